import type { RequestProblem } from '#base/gateway-error.ts';
import type { AccessRules } from './access-rules.ts';
import type { KnownPersons } from './issuers/known-persons.ts';
import type { OrchestratorNames } from './people.ts';
import type { Persons } from './persons.ts';
import { roles as builtInRoles, type CustomRole, customRole, isRole, type Principal } from './principal.ts';

/** By the configuration in force, without blocked ones. */
export function createPrincipals(rules: () => AccessRules, known: KnownPersons) {
  return {
    /** Users and clients alone. */
    principalNamed: (username: string) => rules().accounts.named(username)?.principal,
    /** For calls that no request brings, such as those of a run. Also a person of an issuer, as the last token said it. Rejects with `store-unavailable`. */
    principalNow: async (id: string) => rules().accounts.named(id)?.principal ?? (await known.find(id)),
    /** For names at orchestrators. Each method rejects with `store-unavailable`. */
    orchestratorNames: {
      ofPerson: (id, claim) => known.nameOf(id, claim),
      ofUser: (id) => rules().accounts.configured('user', id)?.principal.id,
      idsNamed: (issuer, claim, name) => known.idsNamed(issuer, claim, name),
    } satisfies OrchestratorNames,
    /** Users, clients, and people of issuers that were seen last. Rejects with `store-unavailable`. */
    knownPrincipals: async (): Promise<readonly Principal[]> => [...rules().accounts.principals(), ...(await known.all())],
    /** True if removed or blocked. A person is removed with its issuer. */
    isGone: (id: string) => rules().isGone(id),
    persons: {
      isSame: (one, other) => rules().persons.isSame(one, other),
      idsOf: (id) => rules().persons.idsOf(id),
    } satisfies Persons,
    /** A text to compare, of all that the configuration lets the principal do. */
    rightsOf: (principal: Principal) => rules().rightsOf(principal),
  };
}

/** A user or client of the configuration, or a principal with these roles. */
interface AskedPrincipal {
  readonly principal?: string | undefined;
  readonly roles?: readonly string[] | undefined;
}

interface KnownPrincipals {
  readonly principalNamed: (username: string) => Principal | undefined;
  readonly customRoles: readonly CustomRole[];
}

/** Exactly one of the two members has to be given, and every name has to be known. */
export function findAskedPrincipal(
  { principal: name, roles }: AskedPrincipal,
  { principalNamed, customRoles }: KnownPrincipals,
): { readonly principal: Principal } | { readonly problems: readonly RequestProblem[] } {
  if ((name === undefined) === (roles === undefined))
    return { problems: [{ pointer: '/principal', detail: 'or roles has to be given, and only one of the two' }] };
  if (name !== undefined) {
    const principal = principalNamed(name);
    if (principal !== undefined) return { principal };
    const detail = 'is no user or client of the configuration, or is blocked; for a caller of an issuer give its roles';
    return { problems: [{ pointer: '/principal', detail }] };
  }
  const known: readonly string[] = [...builtInRoles, ...customRoles];
  const problems = (roles ?? []).flatMap((role, index) =>
    known.includes(role) ? [] : [{ pointer: `/roles/${index}`, detail: `is no role; there are ${known.join(', ')}` }],
  );
  if (problems.length > 0) return { problems };
  const held = (roles ?? []).map((role) => (isRole(role) ? role : customRole(role)));
  return { principal: { id: '', username: '', roles: held, groups: [] } };
}
