import { roles as knownRoles, type Principal, type Role } from './principal.ts';

interface TrustedClaims {
  readonly issuer: string;
  readonly rolesClaim: string;
  readonly groupsClaim: string;
}

type Claims = Readonly<Record<string, unknown>>;

/**
 * The principal that the claims of an issuer describe. Its name is `preferred_username`, else `sub`. Roles that the gateway does
 * not know are dropped, so a token without a known role gives a principal that may do nothing. `undefined` if there is no `sub`
 * or no name.
 */
export function principalOfClaims(claims: Claims, { issuer, rolesClaim, groupsClaim }: TrustedClaims): Principal | undefined {
  const { sub: subject, preferred_username: preferred } = claims;
  const username = [preferred, subject].find((name) => typeof name === 'string' && name !== '');
  if (typeof subject !== 'string' || typeof username !== 'string') return undefined;
  const named = new Set(listOf(claimAt(claims, rolesClaim)));
  const roles: readonly Role[] = knownRoles.filter((role) => named.has(role));
  const groups = [...new Set(listOf(claimAt(claims, groupsClaim)))];
  // `sub` is unique only within its issuer, and `preferred_username` is not unique (OpenID Connect Core, section 5.7).
  const id = `oidc:${JSON.stringify([issuer, subject])}`;
  return Object.freeze({ id, username, roles, groups });
}

/**
 * A claim by its full name first, because names may contain dots (`https://example.net/roles`), then as a path into nested
 * claims.
 */
function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const step of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Claims)[step];
  }
  return value;
}

/** The strings of an array, or a string split at spaces and commas. RFC 8693 `scope` and many directories send the latter. */
function listOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.split(/[\s,]+/u).filter((part) => part !== '');
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : [];
}
