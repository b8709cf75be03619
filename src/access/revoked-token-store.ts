import type { Database } from '#database/database.ts';

/** Tokens that were ended before they expired, for all gateways on this store. */
export interface RevokedTokenStore {
  /** Which of the given token ids are revoked. */
  among(jtis: readonly string[]): Promise<ReadonlySet<string>>;
  /** Revoking twice is no error. `expiresAt` in milliseconds since the epoch. */
  add(jti: string, expiresAt: number): Promise<void>;
  /** Deletes tokens that expired before the given time. */
  purge(expiredBefore: number): Promise<void>;
}

/** Well below the 32,766 parameters that SQLite takes in a statement. */
const idsAtOnce = 500;

export function createRevokedTokenStore({ query, read }: Database): RevokedTokenStore {
  return {
    async among(jtis) {
      const revoked = new Set<string>();
      for (let start = 0; start < jtis.length; start += idsAtOnce) {
        const rows = await read
          .selectFrom('revoked_token')
          .select('jti')
          .where('jti', 'in', jtis.slice(start, start + idsAtOnce))
          .execute();
        for (const { jti } of rows) revoked.add(jti);
      }
      return revoked;
    },
    async add(jti, expiresAt) {
      await query
        .insertInto('revoked_token')
        .values({ jti, expires_at: expiresAt })
        .onConflict((conflict) => conflict.column('jti').doNothing())
        .execute();
    },
    async purge(expiredBefore) {
      await query.deleteFrom('revoked_token').where('expires_at', '<', expiredBefore).execute();
    },
  };
}
