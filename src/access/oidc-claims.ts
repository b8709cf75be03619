import type { AccessOptions, IssuerOptions } from './access-options.ts';
import { type CustomRole, idOfIssuer, roles as knownRoles, type Principal, type RoleName } from './principal.ts';

interface TrustedClaims extends Pick<IssuerOptions, 'issuer' | 'rolesClaim' | 'groupsClaim' | 'groupNames'> {
  /** Roles of the members of a group. */
  readonly groupRoles: AccessOptions['groupRoles'];
  readonly customRoles: readonly CustomRole[];
  /** Whether a user or client of the configuration has that name, or one that looks like it. */
  readonly isTaken: (name: string) => boolean;
}

type Claims = Readonly<Record<string, unknown>>;

/** Most characters of a name that an issuer gives. */
const longestName = 256;

/** Characters that control a terminal or that no reader sees: two names could look the same. U+2800 is an empty braille cell. */
const unreadable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * The principal that the claims of an issuer describe. Its name is `preferred_username`, else `sub`, with the issuer behind it if
 * that name is taken. Roles that the gateway does not know are dropped. So a token without a known role, and without a group that
 * has roles, gives a principal that may do nothing. `undefined` if there is no `sub` or no name, or one of them is too long or has a control or invisible character.
 */
export function principalOfClaims(
  claims: Claims,
  { issuer, rolesClaim, groupsClaim, groupNames, groupRoles, customRoles, isTaken }: TrustedClaims,
): Principal | undefined {
  const { sub: subject, preferred_username: preferred } = claims;
  const name = [preferred, subject].find((each) => typeof each === 'string' && each !== '');
  if (!isReadable(subject) || !isReadable(name)) return undefined;
  const username = isTaken(name) ? `${name}@${issuer}` : name;
  const groups = groupsNamed(namesIn(claims, groupsClaim), groupNames);
  const named = new Set<string>([...namesIn(claims, rolesClaim), ...rolesOfGroups(groups, groupRoles)]);
  const roles: readonly RoleName[] = [...knownRoles, ...customRoles].filter((role) => named.has(role));
  // `sub` is unique only within its issuer, and `preferred_username` is not unique (OpenID Connect Core, section 5.7).
  const id = idOfIssuer(issuer, subject);
  return Object.freeze({ id, username, roles, groups, issuer, subject });
}

function isReadable(name: unknown): name is string {
  return typeof name === 'string' && Array.from(name).length <= longestName && !unreadable.test(name);
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

/**
 * Each name that a claim lists, once; none where the issuer left the claim out. One string is one name, since names of a directory have spaces;
 * `scope` is a list of words (RFC 8693).
 */
export function namesIn(claims: Claims, claim: string): readonly string[] {
  if (isLeftOut(claims, claim)) return [];
  const value = claimAt(claims, claim);
  if (typeof value === 'string')
    return claim === 'scope' ? [...new Set(value.split(' '))].filter(Boolean) : [value].filter(Boolean);
  return Array.isArray(value) ? [...new Set(value.filter((entry) => typeof entry === 'string'))] : [];
}

/**
 * Whether the issuer left roles or groups out of the token, because there are too many. It names another place for them (OpenID Connect
 * Core, section 5.6.2), or says `hasgroups` (Microsoft Entra ID, implicit flow).
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

/** The values of the groups claim that are groups: all, or those with a name in the configuration. */
export function groupValues(values: readonly string[], groupNames: IssuerOptions['groupNames']): readonly string[] {
  return groupNames === undefined ? values : values.filter((value) => Object.hasOwn(groupNames, value));
}

function groupsNamed(values: readonly string[], groupNames: IssuerOptions['groupNames']): readonly string[] {
  const known = groupValues(values, groupNames);
  return groupNames === undefined ? known : [...new Set(known.map((value) => groupNames[value] ?? value))];
}

/** The roles that a member of these groups has. */
export function rolesOfGroups(groups: readonly string[], groupRoles: AccessOptions['groupRoles']): readonly RoleName[] {
  return groups.flatMap((group) => (Object.hasOwn(groupRoles, group) ? (groupRoles[group] ?? []) : []));
}
