import type { Secret } from '#base/secret.ts';
import type { Credentials } from './credentials.ts';

/**
 * NSO's X-Auth-Token. The first call has the configured token, and each later call the token of the latest reply that had one.
 * After a 401 to a token from a reply, the configured token is used again. A token in a reply must be visible ASCII of at most 8
 * KiB; any other value is ignored.
 */
export function renewedFromReplies(configured: Secret): Credentials {
  const first = headersOf(configured.reveal());
  let current = first;
  return {
    type: 'token',
    headers: () => current,
    observe(reply, used) {
      if (reply.status !== 401) {
        const renewed = reply.headers['x-auth-token'];
        if (typeof renewed === 'string' && renewed !== current[1] && /^[\x21-\x7e]{1,8192}$/u.test(renewed))
          current = headersOf(renewed);
        return false;
      }
      if (used !== current) return true;
      if (current === first) return false;
      current = first;
      return true;
    },
    // NSO may also send the token in a cookie (its settings token-response and token-cookie).
    withheld: ['x-auth-token', 'set-cookie'],
    close: () => Promise.resolve(),
  };
}

function headersOf(token: string): readonly string[] {
  return ['X-Auth-Token', token];
}
