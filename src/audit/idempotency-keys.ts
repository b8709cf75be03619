import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Database } from '#database/database.ts';
import { findKey, releaseKey, type TakenKey } from './idempotency-store.ts';
import { type IdempotentRequest, unsealed } from './idempotent-request.ts';
import { underWaySince } from './under-way.ts';

/** The reply to a request that came before with the same key and payload. */
export interface EarlierReply {
  /** As it was kept. */
  readonly earlierReply: string;
}

/**
 * Looks up what came of the call that a key came with before: its reply, undefined where it may be made now. Rejects with 422
 * where the payload is another, and with 409 where there is no reply to repeat: the call is under way, its outcome is unknown (which a
 * call that only reads does not mind), or the reply was too long (draft-ietf-httpapi-idempotency-key-header-07, 2.7).
 */
export function createIdempotencyKeys(options: {
  readonly database: Database;
  readonly clock: Clock;
  /** Of this gateway. */
  readonly chain: string;
  /** Milliseconds that no call takes longer than, as configured by now. */
  readonly longestCall: () => number;
}): (request: IdempotentRequest, call: { readonly reads: boolean }) => Promise<EarlierReply | undefined> {
  const { database, clock, chain } = options;
  const mayBeUnderWay = ({ chain: taker, alive_until, taken_at }: TakenKey, now: number): boolean =>
    (taker === chain || (alive_until ?? 0) >= now) && taken_at > underWaySince(options);
  return async (request, { reads }) => {
    const now = clock.now();
    const found = await findKey(database, request.id, now);
    if (found === undefined) return undefined;
    if (found.fingerprint !== request.fingerprint) throw reused();
    if (found.reply !== null) return { earlierReply: unsealed(request, found.reply) };
    if (found.state === 'done') throw notKept();
    if (found.state === null && mayBeUnderWay(found, now)) throw inUse();
    if (!reads) throw unknownOutcome();
    // Its gateway was killed, and whether it read or not is all the same.
    await releaseKey(database, found);
    return undefined;
  };
}

function reused(): GatewayError {
  return new GatewayError(
    'idempotency-key-reused',
    'This Idempotency-Key came with another payload before: send the same bytes again, or another key for another request.',
  );
}

function inUse(): GatewayError {
  return new GatewayError(
    'idempotency-key-in-use',
    'The call that came with this Idempotency-Key is still under way: try again later.',
    {
      headers: { 'Retry-After': '1' },
    },
  );
}

function notKept(): GatewayError {
  return new GatewayError(
    'reply-not-kept',
    'The call that came with this Idempotency-Key was answered by the far side; its reply was too long to be kept, and it is not made again.',
  );
}

function unknownOutcome(): GatewayError {
  return new GatewayError(
    'outcome-unknown',
    'The call that came with this Idempotency-Key left and was not answered: it may have happened. It is not made again; look at the far side.',
    { status: 409 },
  );
}
