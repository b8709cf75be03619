import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { StoreSteadiness } from '#base/store-steadiness.ts';
import type { Database } from '#database/database.ts';
import { inProgressSince } from '../calls-in-progress.ts';
import { findKey, releaseKey, sizeOfKeys, type TakenKey } from './idempotency-store.ts';
import { type IdempotentRequest, unsealed } from './idempotent-request.ts';

/** The reply to an earlier request with the same key and payload. */
export interface EarlierReply {
  /** What was stored. */
  readonly earlierReply: Buffer;
}

/**
 * Looks up the call that an earlier request made with this key: its reply, or undefined if the call may be made now. Rejects with
 * 422 if the payload differs, and with 409 if there is no reply to repeat (draft-ietf-httpapi-idempotency-key-header-07, section
 * 2.7). That is so if the call is in progress, if its reply was too long to store, or if its outcome is unknown. A call that only
 * reads is made again if its outcome is unknown.
 */
export function createIdempotencyKeys(options: {
  readonly database: Database;
  readonly clock: Clock;
  /** The chain of this gateway. */
  readonly chain: string;
  /** Milliseconds: an upper limit for the duration of a call under the configuration in force. */
  readonly maxCallDuration: () => number;
  /** Until it is steady, a chain that looks dead may be one of a gateway that has not reached the store again. */
  readonly steady: Pick<StoreSteadiness, 'isSteady'>;
}): (request: IdempotentRequest, call: { readonly reads: boolean }) => Promise<EarlierReply | undefined> {
  const { database, clock, chain, steady } = options;
  const mayBeAlive = ({ chain: taker, alive_until }: TakenKey, now: number): boolean =>
    taker === chain || (alive_until !== null && (alive_until >= now || !steady.isSteady));
  const mayBeInProgress = (key: TakenKey, now: number): boolean =>
    mayBeAlive(key, now) && key.taken_at > inProgressSince(options);
  return async (request, { reads }) => {
    const now = clock.now();
    const found = await findKey(database, request.id, now);
    if (found === undefined) {
      if (request.isDoubtful === true && !reads) throw lostOutcome();
      return undefined;
    }
    if (found.fingerprint !== request.fingerprint) throw reused();
    if (found.reply !== null) return { earlierReply: unsealed(request, found.reply) };
    if (found.state === 'done') throw notKept();
    if (found.state === null && mayBeInProgress(found, now)) throw inUse();
    if (!reads) throw unknownOutcome();
    // The gateway of the first call was killed. To read again does no harm.
    await releaseKey(database, found);
    return undefined;
  };
}

function reused(): GatewayError {
  return new GatewayError(
    'idempotency-key-reused',
    'An earlier request had this Idempotency-Key and another payload: send the same bytes again, or another key for another request.',
  );
}

function inUse(): GatewayError {
  return new GatewayError(
    'idempotency-key-in-use',
    'The first call with this Idempotency-Key is still in progress: try again later.',
    {
      headers: { 'Retry-After': '1' },
    },
  );
}

function notKept(): GatewayError {
  return new GatewayError(
    'reply-not-kept',
    'The first call with this Idempotency-Key has ended, but its reply was not kept: it was too long, or the store had no room for it. The call is not made again.',
  );
}

function lostOutcome(): GatewayError {
  return new GatewayError(
    'outcome-unknown',
    'The store lost commits, and with them what it had of this call: it may have happened. It is not made before somebody looked at the upstream.',
    { status: 409 },
  );
}

function unknownOutcome(): GatewayError {
  return new GatewayError(
    'outcome-unknown',
    'The first call with this Idempotency-Key left the gateway and got no answer: it may have happened. It is not made again; look at the upstream.',
    { status: 409 },
  );
}

/** The replies that are kept for Idempotency-Keys: how much room they take, and whether there is room for another one. */
export interface KeptReplies {
  /** Bytes of all keys and replies. */
  size(): number;
  /** `length`: characters of the sealed reply. If true, the reply counts as kept. */
  take(length: number): boolean;
  /** Measures the store, because other gateways write too and old keys are deleted. Rejects as the store does. */
  measure(): Promise<void>;
}

/** Of `maxSize`, for the keys and replies. */
const share = 4;

export function createKeptReplies(options: {
  readonly database: Database;
  /** Bytes of the whole audit log. */
  readonly maxSize: number;
  /** The disk of the store has no room for replies. */
  readonly isShort: () => boolean;
}): KeptReplies {
  const { database, maxSize, isShort } = options;
  let size = 0;
  return {
    size: () => size,
    take(length) {
      if (isShort() || size + length > maxSize / share) return false;
      size += length;
      return true;
    },
    async measure() {
      size = await sizeOfKeys(database.read);
    },
  };
}
