/** The roles of the interface specification, a closed list. */
export const roles = ['admin', 'engineering', 'other', 'readonly', 'apiread'] as const;

export type Role = (typeof roles)[number];

declare const custom: unique symbol;

/** The name of a role that the operator defines (`access.roles`). It is no Role, so no route and no table can name it. */
export type CustomRole = string & { readonly [custom]: true };

/** A role that a principal can have. */
export type RoleName = Role | CustomRole;

export function isRole(name: string): name is Role {
  return (roles as readonly string[]).includes(name);
}

/** `name` must be one that the configuration defines. */
export function customRole(name: string): CustomRole {
  return name as CustomRole;
}

/** The id of the subject of an issuer's token: see `Principal.id`. */
export function idOfIssuer(issuer: string, subject: string): string {
  return `oidc:${JSON.stringify([issuer, subject])}`;
}

/** Whether the principal has at least one of the roles. */
export function hasRole(principal: Pick<Principal, 'roles'>, wanted: readonly Role[]): boolean {
  return wanted.some((role) => principal.roles.includes(role));
}

/** The issuer in such an id; undefined in that of a user or client. */
export function issuerOfId(id: string): string | undefined {
  const [, issuer] = /^oidc:\[("(?:[^"\\]|\\.)*"),/u.exec(id) ?? [];
  return issuer === undefined ? undefined : (JSON.parse(issuer) as string);
}

/** The user, client or token subject for which a call is made, with its roles and groups. */
export interface Principal {
  /**
   * Unique among all principals, unlike `username`. For a user or client of the configuration, the name: both share one set of names, and
   * no name contains a colon. For the subject of a token, `oidc:` and the JSON of [issuer, subject]. The store holds digests of this
   * text (Idempotency-Key), so its form must not change.
   */
  readonly id: string;
  /**
   * User name, client id, or the name in an issuer's token (`preferred_username`, else `sub`). A name of a token that a user or client
   * has too is followed by `@` and the issuer.
   */
  readonly username: string;
  readonly roles: readonly RoleName[];
  readonly groups: readonly string[];
  /** Only for the subject of a token: its `iss` and `sub`. */
  readonly issuer?: string;
  readonly subject?: string;
}
