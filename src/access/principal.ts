/** The roles of the interface specification, a closed list. */
export const roles = ['admin', 'engineering', 'other', 'readonly', 'apiread'] as const;

export type Role = (typeof roles)[number];

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
  readonly roles: readonly Role[];
  readonly groups: readonly string[];
  /** Only for the subject of a token: its `iss` and `sub`. */
  readonly issuer?: string;
  readonly subject?: string;
}
