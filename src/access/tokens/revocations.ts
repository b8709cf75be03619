import { setImmediate } from 'node:timers/promises';
import { storeUnavailable } from '#database/store-failure.ts';
import type { RevokedTokenStore } from './revoked-token-store.ts';

/** Of this process. Older ones have been in the store for long. */
const maxRemembered = 10_000;

const nearlyFull =
  'The disk of the store is nearly full, so the token has ended at this gateway alone. Its operator should make room; then log out again.';

export type Revocations = ReturnType<typeof createRevocations>;

export function createRevocations({ store, isShort }: { readonly store: RevokedTokenStore; readonly isShort: () => boolean }) {
  const endedHere = new Set<string>();
  let query: { readonly jtis: Set<string>; readonly answer: Promise<ReadonlySet<string>> } | undefined;
  const ask = (jti: string): Promise<ReadonlySet<string>> => {
    if (query === undefined) {
      const jtis = new Set<string>();
      const answer = setImmediate().then(() => {
        query = undefined;
        return store.among([...jtis]);
      });
      query = { jtis, answer };
    }
    query.jtis.add(jti);
    return query.answer;
  };
  return {
    /** On any gateway. Calls of one iteration of the event loop share a query. Rejects with 503. */
    async isRevoked(jti: string): Promise<boolean> {
      const revoked = await ask(jti);
      // Read after the query: this process may have revoked the token meanwhile.
      return revoked.has(jti) || endedHere.has(jti);
    },
    /**
     * In this process at once, on other gateways with their next query. Rejects with 503 if the store does not take it, or its disk is
     * nearly full: then the token has ended in this process alone.
     */
    async revoke(jti: string, expiresAt: number): Promise<void> {
      endedHere.add(jti);
      const [oldest = jti] = endedHere;
      if (endedHere.size > maxRemembered) endedHere.delete(oldest);
      if (isShort()) throw storeUnavailable('nearly full', nearlyFull);
      await store.add(jti, expiresAt);
    },
  };
}
