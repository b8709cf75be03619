import { inCheckPhase } from '#base/check-phase.ts';
import type { RevokedTokenStore } from './revoked-token-store.ts';

/** How many revocations of this process are remembered; older ones are in the store long since. */
const rememberedAtMost = 10_000;

export interface Revocations {
  /** Whether the token was ended, on any gateway. Questions asked together become one query. Rejects with 503. */
  isRevoked(jti: string): Promise<boolean>;
  /** Ends the token: here at once, on the other gateways when they next ask. */
  revoke(jti: string, expiresAt: number): Promise<void>;
}

export function createRevocations({ store }: { readonly store: RevokedTokenStore }): Revocations {
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
    answer = new Promise<void>(inCheckPhase).then(() => {
      asked = undefined;
      return store.among([...batch]);
    });
    return answer;
  };

  return {
    async isRevoked(jti) {
      const revoked = await ask(jti);
      // Looked at last: the token may have been ended here while the query was on its way.
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
      await store.add(jti, expiresAt);
    },
  };
}
