/** The closed list of roles (interface-specification, Authentication). */
export const roles = ['admin', 'engineering', 'other', 'readonly', 'apiread'] as const;

export type Role = (typeof roles)[number];

/** Who a call is made for: known, authenticated, with its roles and groups. */
export interface Principal {
  /** User name, client id, or the name in an issuer's token (`preferred_username`, else `sub`). */
  readonly username: string;
  readonly roles: readonly Role[];
  readonly groups: readonly string[];
}
