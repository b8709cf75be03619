import type { Principal } from '#access/principal.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';

/** Counts the calls of each principal in this process (`server.rateLimit`). */
export interface RateLimit {
  /** Counts one call. Throws 429 `too-many-requests` with `Retry-After`, and counts nothing, where the principal has none left. */
  count(principal: Principal): void;
}

interface RateLimitOptions {
  /** Calls that can be made at once. */
  readonly calls: number;
  /** Milliseconds after which all of them can be made again; they come back one after the other. */
  readonly per: number;
  readonly clock: Clock;
  /** Principals remembered at most. Beyond it the limit forgets the one that called longest ago, which then has all its calls again. */
  readonly principals?: number;
}

/** Calls that are not back yet. A call is `per` units, a millisecond brings `calls` units back: whole numbers, so that nothing drifts. */
interface Meter {
  spent: number;
  /** The millisecond for which `spent` holds. */
  at: number;
}

/** A leaky bucket for each principal (the generic cell rate algorithm of ITU-T I.371): no timer, and no edge of a time window. */
export function createRateLimit({ calls, per, clock, principals = 100_000 }: RateLimitOptions): RateLimit {
  const capacity = calls * per;
  /** In the order of their last call: the first one can be forgotten first. */
  const meters = new Map<string, Meter>();
  const spentAt = (meter: Meter, now: number): number => Math.max(0, meter.spent - (now - meter.at) * calls);

  const forget = (now: number): void => {
    for (const [key, meter] of meters) {
      if (meters.size < principals && spentAt(meter, now) > 0) return;
      meters.delete(key);
    }
  };

  return {
    count(principal) {
      const now = Math.floor(clock.monotonic());
      const key = principal.id;
      const meter = meters.get(key);
      if (meter === undefined) {
        forget(now);
        meters.set(key, { spent: per, at: now });
        return;
      }
      meters.delete(key);
      meters.set(key, meter);
      const spent = spentAt(meter, now);
      if (spent + per > capacity) throw exceeded({ calls, per }, (spent + per - capacity) / calls);
      meter.spent = spent + per;
      meter.at = now;
    },
  };
}

function exceeded({ calls, per }: { readonly calls: number; readonly per: number }, wait: number): GatewayError {
  const seconds = Math.max(1, Math.ceil(wait / 1000));
  return new GatewayError(
    'too-many-requests',
    `You are over the rate limit of a caller (server.rateLimit: calls ${calls}, per ${per / 1000} s): wait ${seconds} s.`,
    { headers: { 'Retry-After': String(seconds) } },
  );
}
