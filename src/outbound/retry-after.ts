import type { Clock } from '#base/clock.ts';
import { headerValue, type ReplyHeaders } from './outbound-call.ts';

/**
 * The milliseconds of a Retry-After header, in seconds or as an IMF-fixdate (RFC 9110, section 10.2.3); 0 for any other value.
 */
export function retryAfter(headers: ReplyHeaders, clock: Clock): number {
  const value = headerValue(headers, 'retry-after');
  if (value === undefined) return 0;
  if (/^\d{1,9}$/u.test(value)) return Number(value) * 1000;
  const at = /^\w{3}, \d{2} \w{3} \d{4} [\d:]{8} GMT$/u.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? 0 : Math.max(0, at - clock.now());
}
