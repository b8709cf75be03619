import type { Database } from '#database/database.ts';

/** Tokens that were revoked before they expired, and logins by an issuer that have ended: what no gateway of this store takes again. */
export interface RevokedTokenStore {
  /** Which of the given token ids are revoked. */
  among(jtis: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Resolves with true for the first that adds this id: of two at the same time, on any gateway, one. `expiresAt` is in milliseconds since
   * the epoch.
   */
  add(jti: string, expiresAt: number): Promise<boolean>;
  /** Deletes tokens that expired before the given time. */
  purge(expiredBefore: number): Promise<void>;
}

/** Far below the 32,766 parameters that SQLite allows in one statement. */
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
      const added = await query
        .insertInto('revoked_token')
        .values({ jti, expires_at: expiresAt })
        .onConflict((conflict) => conflict.column('jti').doNothing())
        .returning('jti')
        .execute();
      return added.length > 0;
    },
    async purge(expiredBefore) {
      await query.deleteFrom('revoked_token').where('expires_at', '<', expiredBefore).execute();
    },
  };
}
