import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables.ts';

/** What the last token of an issuer's person said. */
export interface KnownPerson {
  /** `Principal.id`. */
  readonly id: string;
  /** `iat` of the token, in milliseconds since the epoch. */
  readonly seenAt: number;
  readonly claims: RememberedClaims;
}

/** `roles` and `groups` are the names in the token, also those that the gateway does not know today. */
interface RememberedClaims {
  readonly sub: string;
  readonly preferred_username?: string;
  readonly roles: readonly string[];
  readonly groups: readonly string[];
  /** The names of the claims that the roles and groups came from. */
  readonly readFrom: readonly [roles: string, groups: string];
}

export interface KnownPersonStore {
  find(id: string): Promise<KnownPerson | undefined>;
  /** Those seen last. */
  list(limit: number): Promise<readonly KnownPerson[]>;
  /** Replaces what an older token said. A newer one stays. */
  keep(person: KnownPerson): Promise<void>;
  /** Deletes the persons whose last token is older than that time, in milliseconds since the epoch. */
  purge(seenBefore: number): Promise<void>;
}

export function createKnownPersonStore({ query, read }: Database): KnownPersonStore {
  return {
    async find(id) {
      const row = await read.selectFrom('known_person').selectAll().where('id', '=', id).executeTakeFirst();
      return row && personOf(row);
    },
    async list(limit) {
      const rows = await read.selectFrom('known_person').selectAll().orderBy('seen_at', 'desc').limit(limit).execute();
      return rows.map(personOf);
    },
    async keep({ id, seenAt, claims }) {
      const row = { seen_at: seenAt, claims: JSON.stringify(claims) };
      await query
        .insertInto('known_person')
        .values({ id, ...row })
        .onConflict((conflict) => conflict.column('id').doUpdateSet(row).where('known_person.seen_at', '<', seenAt))
        .execute();
    },
    async purge(seenBefore) {
      await query.deleteFrom('known_person').where('seen_at', '<', seenBefore).execute();
    },
  };
}

function personOf({ id, seen_at: seenAt, claims }: Tables['known_person']): KnownPerson {
  return { id, seenAt, claims: JSON.parse(claims) as RememberedClaims };
}
