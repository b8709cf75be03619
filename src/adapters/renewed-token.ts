import type { Secret } from '#base/secret.ts';
import type { Credentials } from './credentials.ts';

/**
 * NSO's X-Auth-Token: begins with the configured token, and goes on with the one that the last reply brought. A 401 to a token that a
 * reply brought leads back to the configured one. A token of a reply is visible ASCII of at most 8 KiB; anything else is passed over.
 */
export function renewedFromReplies(configured: Secret): Credentials {
  const first = headersOf(configured.reveal());
  let current = first;
  return {
    headers: () => current,
    saw(reply, used) {
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
    // NSO may hand the token out in a cookie as well (token-response, token-cookie).
    withheld: ['x-auth-token', 'set-cookie'],
    close: () => Promise.resolve(),
  };
}

function headersOf(token: string): readonly string[] {
  return ['X-Auth-Token', token];
}
