import type { Database } from '#database/database.ts';

/** Times are milliseconds since the epoch. */
export interface StoredKey {
  readonly kid: string;
  /** JWKs as JSON. */
  readonly privateJwk: string;
  readonly publicJwk: string;
  readonly createdAt: number;
  readonly retiredAt: number | null;
}

export type SigningKeyStore = ReturnType<typeof createSigningKeyStore>;

export function createSigningKeyStore(database: Database) {
  return {
    /** Newest first. */
    async all(): Promise<readonly StoredKey[]> {
      const rows = await database.read
        .selectFrom('signing_key')
        .selectAll()
        .orderBy('created_at', 'desc')
        .orderBy('kid')
        .execute();
      return rows.map(
        ({ kid, private_jwk: privateJwk, public_jwk: publicJwk, created_at: createdAt, retired_at: retiredAt }) => ({
          kid,
          privateJwk,
          publicJwk,
          createdAt,
          retiredAt,
        }),
      );
    },
    /** Retires the key that signs and adds `key`, unless the former is newer than `olderThan`: concurrent gateways add one key. */
    replace: (key: StoredKey, olderThan: number) =>
      database.exclusively('signing_key', async (transaction) => {
        const newer = await transaction
          .selectFrom('signing_key')
          .select('kid')
          .where('retired_at', 'is', null)
          .where('created_at', '>', olderThan)
          .executeTakeFirst();
        if (newer !== undefined) return;
        const { kid, privateJwk, publicJwk, createdAt, retiredAt } = key;
        await transaction.updateTable('signing_key').set({ retired_at: createdAt }).where('retired_at', 'is', null).execute();
        await transaction
          .insertInto('signing_key')
          .values({ kid, private_jwk: privateJwk, public_jwk: publicJwk, created_at: createdAt, retired_at: retiredAt })
          .execute();
      }),
    async purge(retiredBefore: number) {
      await database.query.deleteFrom('signing_key').where('retired_at', '<', retiredBefore).execute();
    },
  };
}
