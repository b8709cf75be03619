import { type CustomRole, idOfIssuer, roles as knownRoles, type Principal, type RoleName } from '../principal.ts';
import type { AccessOptions, IssuerOptions } from '../rights/access-options.ts';

interface TrustedClaims extends Pick<IssuerOptions, 'issuer' | 'rolesClaim' | 'groupsClaim' | 'groupNames'> {
  readonly groupRoles: AccessOptions['groupRoles'];
  readonly customRoles: readonly CustomRole[];
  /** A configured account has that name, or one that looks like it. */
  readonly isTaken: (name: string) => boolean;
}

type Claims = Readonly<Record<string, unknown>>;

/** Characters. */
const maxNameLength = 256;

/** Control and invisible characters: two names could look the same. U+2800 is an empty braille cell. */
const unreadable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * Its name is `preferred_username`, else `sub`, with the issuer behind it if that name is taken. Unknown roles are dropped, so
 * the principal may be allowed nothing. Undefined if `sub` or the name is missing, too long or not readable.
 */
export function principalOfClaims(
  claims: Claims,
  { issuer, rolesClaim, groupsClaim, groupNames, groupRoles, customRoles, isTaken }: TrustedClaims,
): Principal | undefined {
  const { sub: subject, preferred_username: preferred } = claims;
  const name = [preferred, subject].find((each) => typeof each === 'string' && each !== '');
  if (!isReadable(subject) || !isReadable(name)) return undefined;
  const username = isTaken(name) ? `${name}@${issuer}` : name;
  const groups = [...new Set(groupValues(namesIn(claims, groupsClaim), groupNames).map((value) => groupNames?.[value] ?? value))];
  const named = new Set<string>([...namesIn(claims, rolesClaim), ...rolesOfGroups(groups, groupRoles)]);
  const roles: readonly RoleName[] = [...knownRoles, ...customRoles].filter((role) => named.has(role));
  // `sub` is unique only within its issuer, `preferred_username` not at all (OpenID Connect Core, section 5.7).
  const id = idOfIssuer(issuer, subject);
  return Object.freeze({ id, username, roles, groups, issuer, subject });
}

function isReadable(name: unknown): name is string {
  return typeof name === 'string' && Array.from(name).length <= maxNameLength && !unreadable.test(name);
}

/** By its full name first, because names may contain dots (`https://example.net/roles`), then as a path. */
function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const step of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Claims)[step];
  }
  return value;
}

/**
 * Each once; none if the issuer left the claim out. A string is one name, since names of a directory have spaces; `scope` is a
 * list of words (RFC 8693).
 */
export function namesIn(claims: Claims, claim: string): readonly string[] {
  if (isLeftOut(claims, claim)) return [];
  const value = claimAt(claims, claim);
  if (typeof value === 'string')
    return claim === 'scope' ? [...new Set(value.split(' '))].filter(Boolean) : [value].filter(Boolean);
  return Array.isArray(value) ? [...new Set(value.filter((entry) => typeof entry === 'string'))] : [];
}

/**
 * True if the issuer left roles or groups out, because there are too many. It names another place for them (OpenID Connect Core,
 * section 5.6.2), or says `hasgroups` (Microsoft Entra ID, implicit flow).
 */
export function areNamesLeftOut(
  claims: Claims,
  { rolesClaim, groupsClaim }: Pick<IssuerOptions, 'rolesClaim' | 'groupsClaim'>,
): boolean {
  if (isLeftOut(claims, rolesClaim) || isLeftOut(claims, groupsClaim)) return true;
  return claims['hasgroups'] === true && claimAt(claims, groupsClaim) === undefined;
}

function isLeftOut({ _claim_names: elsewhere }: Claims, claim: string): boolean {
  return typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, claim);
}

/** All, or those with a name in the configuration. */
export function groupValues(values: readonly string[], groupNames: IssuerOptions['groupNames']): readonly string[] {
  return groupNames === undefined ? values : values.filter((value) => Object.hasOwn(groupNames, value));
}

export function rolesOfGroups(groups: readonly string[], groupRoles: AccessOptions['groupRoles']): readonly RoleName[] {
  return groups.flatMap((group) => (Object.hasOwn(groupRoles, group) ? (groupRoles[group] ?? []) : []));
}
