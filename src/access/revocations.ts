import { setImmediate } from 'node:timers/promises';
import { storeUnavailable } from '#database/store-failure.ts';
import type { RevokedTokenStore } from './revoked-token-store.ts';

/** How many revocations of this process are remembered. Older ones have been in the store for a long time. */
const rememberedAtMost = 10_000;

const nearlyFull =
  'The disk of the store is nearly full, so the token has ended at this gateway alone. Its operator should make room; then log out again.';

export interface Revocations {
  /** Whether the token was revoked on any gateway. Calls of one iteration of the event loop share a query. Rejects with 503. */
  isRevoked(jti: string): Promise<boolean>;
  /**
   * Revokes the token: in this process at once, on the other gateways with their next query. Rejects with 503 if the store does not
   * take it, or if its disk is nearly full. Then the token has ended in this process alone.
   */
  revoke(jti: string, expiresAt: number): Promise<void>;
}

export function createRevocations({
  store,
  isShort,
}: {
  readonly store: RevokedTokenStore;
  readonly isShort: () => boolean;
}): Revocations {
  const endedHere = new Set<string>();
  let asked: Set<string> | undefined;
  let answer: Promise<ReadonlySet<string>> | undefined;

  const ask = (jti: string): Promise<ReadonlySet<string>> => {
    if (asked !== undefined && answer !== undefined) {
      asked.add(jti);
      return answer;
    }
    const batch = new Set([jti]);
    asked = batch;
    answer = setImmediate().then(() => {
      asked = undefined;
      return store.among([...batch]);
    });
    return answer;
  };

  return {
    async isRevoked(jti) {
      const revoked = await ask(jti);
      // `endedHere` is read after the query: this process may have revoked the token while the query ran.
      return revoked.has(jti) || endedHere.has(jti);
    },
    async revoke(jti, expiresAt) {
      endedHere.add(jti);
      if (endedHere.size > rememberedAtMost) {
        for (const oldest of endedHere) {
          endedHere.delete(oldest);
          break;
        }
      }
      if (isShort()) throw storeUnavailable('nearly full', nearlyFull);
      await store.add(jti, expiresAt);
    },
  };
}
