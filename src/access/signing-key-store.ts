import type { Database } from '#database/database.ts';

/** A row of the table `signing_key`. Times are milliseconds since the epoch. */
export interface StoredKey {
  readonly kid: string;
  /** The JWKs as JSON. */
  readonly privateJwk: string;
  readonly publicJwk: string;
  readonly createdAt: number;
  readonly retiredAt: number | null;
}

export interface SigningKeyStore {
  /** Newest first. */
  all(): Promise<readonly StoredKey[]>;
  /**
   * Retires the key that signs now and adds `key`, unless the key that signs is newer than `olderThan`. So concurrent gateways
   * add one key.
   */
  replace(key: StoredKey, olderThan: number): Promise<void>;
  /** Deletes keys retired before `retiredBefore`. */
  purge(retiredBefore: number): Promise<void>;
}

export function createSigningKeyStore(database: Database): SigningKeyStore {
  return {
    async all() {
      const rows = await database.read
        .selectFrom('signing_key')
        .selectAll()
        .orderBy('created_at', 'desc')
        .orderBy('kid')
        .execute();
      return rows.map((row) => ({
        kid: row.kid,
        privateJwk: row.private_jwk,
        publicJwk: row.public_jwk,
        createdAt: row.created_at,
        retiredAt: row.retired_at,
      }));
    },

    replace: (key, olderThan) =>
      database.exclusively('signing_key', async (transaction) => {
        const newer = await transaction
          .selectFrom('signing_key')
          .select('kid')
          .where('retired_at', 'is', null)
          .where('created_at', '>', olderThan)
          .executeTakeFirst();
        if (newer !== undefined) return;
        await transaction.updateTable('signing_key').set({ retired_at: key.createdAt }).where('retired_at', 'is', null).execute();
        await transaction
          .insertInto('signing_key')
          .values({
            kid: key.kid,
            private_jwk: key.privateJwk,
            public_jwk: key.publicJwk,
            created_at: key.createdAt,
            retired_at: key.retiredAt,
          })
          .execute();
      }),

    async purge(retiredBefore) {
      await database.query.deleteFrom('signing_key').where('retired_at', '<', retiredBefore).execute();
    },
  };
}
