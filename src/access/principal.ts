/** Of the interface specification, a closed list. */
export const roles = ['admin', 'engineering', 'other', 'readonly', 'apiread'] as const;

export type Role = (typeof roles)[number];

declare const custom: unique symbol;

/** Of `access.roles`. It is no Role, so no route and no table can name it. */
export type CustomRole = string & { readonly [custom]: true };

export type RoleName = Role | CustomRole;

export function isRole(name: string): name is Role {
  return (roles as readonly string[]).includes(name);
}

/** `name` must be one of the configuration. */
export function customRole(name: string): CustomRole {
  return name as CustomRole;
}

/** See `Principal.id`. */
export function idOfIssuer(issuer: string, subject: string): string {
  return `oidc:${JSON.stringify([issuer, subject])}`;
}

export function hasRole(principal: Pick<Principal, 'roles'>, wanted: readonly Role[]): boolean {
  return wanted.some((role) => principal.roles.includes(role));
}

/** Undefined: the id of a user or client. */
export function issuerOfId(id: string): string | undefined {
  const [, issuer] = /^oidc:\[("(?:[^"\\]|\\.)*"),/u.exec(id) ?? [];
  return issuer === undefined ? undefined : (JSON.parse(issuer) as string);
}

export interface Principal {
  /**
   * Unique, unlike `username`. Of a configured user or client, the name: both share one set of names, without colons. Of a token
   * subject, `oidc:` and the JSON of [issuer, subject]. The store holds digests of this text (Idempotency-Key), so its form must
   * not change.
   */
  readonly id: string;
  /**
   * User name, client id, or `preferred_username` of a token, else `sub`. A token's name that a user or client has too is
   * followed by `@` and the issuer.
   */
  readonly username: string;
  readonly roles: readonly RoleName[];
  readonly groups: readonly string[];
  /** Only of a token: `iss` and `sub`. */
  readonly issuer?: string;
  readonly subject?: string;
}
