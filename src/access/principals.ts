import type { AccessRules } from './access-rules.ts';
import type { KnownPersons } from './known-persons.ts';
import type { PrincipalNow } from './people.ts';
import type { Persons } from './persons.ts';
import type { Principal } from './principal.ts';

/** The principals, by the configuration in force. A blocked one is not among them. */
export interface Principals {
  /**
   * The user or client of that name, with its roles and groups. For calls that no request brings, such as the run of a schedule. `undefined`
   * if the configuration has no such user or client.
   */
  principalNamed(username: string): Principal | undefined;
  /** A user or client, or a person of an issuer, as the last token said it. Rejects with `store-unavailable`. */
  readonly principalNow: PrincipalNow;
  /** The users, the clients, and the people of issuers that were seen last. Rejects with `store-unavailable`. */
  knownPrincipals(): Promise<readonly Principal[]>;
  /** Whether the principal was removed or blocked. A person is removed with its issuer. */
  readonly isGone: (id: string) => boolean;
  /** Which principals are one person. */
  readonly persons: Persons;
  /** A text of all that the configuration lets the principal do, to compare. */
  rightsOf(principal: Principal): string;
}

export function createPrincipals(rules: () => AccessRules, known: KnownPersons): Principals {
  return {
    principalNamed: (username) => rules().accounts.named(username)?.principal,
    principalNow: async (id) => rules().accounts.named(id)?.principal ?? (await known.find(id)),
    knownPrincipals: async () => [...rules().accounts.principals(), ...(await known.all())],
    isGone: (id) => rules().isGone(id),
    persons: {
      isSame: (one, other) => rules().persons.isSame(one, other),
      idsOf: (id) => rules().persons.idsOf(id),
    },
    rightsOf: (principal) => rules().rightsOf(principal),
  };
}
