import { roles as builtInRoles, type CustomRole, customRole, isRole, type Principal } from './principal.ts';

/** Who is asked about: a user or client of the configuration, or a principal with these roles. */
export interface AskedPrincipal {
  readonly principal?: string | undefined;
  readonly roles?: readonly string[] | undefined;
}

interface KnownPrincipals {
  /** See `Principals`. */
  readonly principalNamed: (username: string) => Principal | undefined;
  readonly customRoles: readonly CustomRole[];
}

interface AskedProblem {
  /** RFC 6901. */
  readonly pointer: string;
  readonly detail: string;
}

/** The principal that is asked about. One of the two members has to be given, and every name has to be known. */
export function findAskedPrincipal(
  { principal: name, roles }: AskedPrincipal,
  { principalNamed, customRoles }: KnownPrincipals,
): { readonly principal: Principal } | { readonly problems: readonly AskedProblem[] } {
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
