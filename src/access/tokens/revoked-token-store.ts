import type { Database } from '#database/database.ts';

/** SQLite allows 32,766 parameters in a statement. */
const idsAtOnce = 500;

export type RevokedTokenStore = ReturnType<typeof createRevokedTokenStore>;

/** Revoked tokens and ended logins by an issuer, which no gateway of this store takes again. */
export function createRevokedTokenStore({ query, read }: Database) {
  return {
    async among(jtis: readonly string[]): Promise<ReadonlySet<string>> {
      const revoked = new Set<string>();
      for (let start = 0; start < jtis.length; start += idsAtOnce) {
        const some = jtis.slice(start, start + idsAtOnce);
        const rows = await read.selectFrom('revoked_token').select('jti').where('jti', 'in', some).execute();
        for (const { jti } of rows) revoked.add(jti);
      }
      return revoked;
    },
    /** True for the first that adds the id, on any gateway. `expiresAt`: milliseconds since the epoch. */
    async add(jti: string, expiresAt: number): Promise<boolean> {
      const added = await query
        .insertInto('revoked_token')
        .values({ jti, expires_at: expiresAt })
        .onConflict((conflict) => conflict.column('jti').doNothing())
        .returning('jti')
        .execute();
      return added.length > 0;
    },
    async purge(expiredBefore: number) {
      await query.deleteFrom('revoked_token').where('expires_at', '<', expiredBefore).execute();
    },
  };
}
