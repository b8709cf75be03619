import { type SqlBool, sql } from 'kysely';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables/tables.ts';

/** What the last token of an issuer's person said. */
export interface KnownPerson {
  /** `Principal.id`. */
  readonly id: string;
  /** `iat` of that token, in milliseconds since the epoch. */
  readonly seenAt: number;
  readonly claims: RememberedClaims;
}

/** `roles` and `groups`: the names in the token, also those that the gateway does not know today. */
interface RememberedClaims {
  readonly sub: string;
  readonly preferred_username?: string;
  readonly roles: readonly string[];
  readonly groups: readonly string[];
  /** Claims that are names at orchestrators. */
  readonly names?: Readonly<Record<string, string>>;
  /** Claim names. */
  readonly readFrom: readonly [roles: string, groups: string];
}

export type KnownPersonStore = ReturnType<typeof createKnownPersonStore>;

export function createKnownPersonStore({ query, read }: Database) {
  return {
    async find(id: string) {
      const row = await read.selectFrom('known_person').selectAll().where('id', '=', id).executeTakeFirst();
      return row && personOf(row);
    },
    /** Those seen last. */
    async list(limit: number) {
      const rows = await read.selectFrom('known_person').selectAll().orderBy('seen_at', 'desc').limit(limit).execute();
      return rows.map(personOf);
    },
    /** Those with this text in a claim, and perhaps others. */
    async withText(text: string, limit: number) {
      const like = `%${JSON.stringify(text).replaceAll(/[\\%_]/gu, '\\$&')}%`;
      const rows = await read
        .selectFrom('known_person')
        .selectAll()
        .where(sql<SqlBool>`claims like ${like} escape '\\'`)
        .limit(limit)
        .execute();
      return rows.map(personOf);
    },
    /** A newer token's facts stay. */
    async keep({ id, seenAt, claims }: KnownPerson) {
      const row = { seen_at: seenAt, claims: JSON.stringify(claims) };
      await query
        .insertInto('known_person')
        .values({ id, ...row })
        .onConflict((conflict) => conflict.column('id').doUpdateSet(row).where('known_person.seen_at', '<=', seenAt))
        .execute();
    },
    async purge(seenBefore: number) {
      await query.deleteFrom('known_person').where('seen_at', '<', seenBefore).execute();
    },
  };
}

function personOf({ id, seen_at: seenAt, claims }: Tables['known_person']): KnownPerson {
  return { id, seenAt, claims: JSON.parse(claims) as RememberedClaims };
}
