import type { Principal } from './principal.ts';

/** How a principal had a hand in a call (docs/security.md). */
export const involvements = [
  'starter',
  'scheduler',
  'resumer',
  'author',
  'workflow',
  'form',
  'event',
  'decision',
  'parent',
  'repeated',
] as const;

export type Involvement = (typeof involvements)[number];

/** Rights and comparisons use the id alone; the name is for reading. */
export type NamedPrincipal = Pick<Principal, 'id' | 'username'>;

/** None of them may grant the call. */
export interface InvolvedPrincipal extends NamedPrincipal {
  readonly as: readonly Involvement[];
}

/** With the roles and groups of this moment. Undefined: removed, or not seen for too long. */
export type PrincipalNow = (id: string) => Promise<Principal | undefined>;

/** What is known of the names of people that orchestrators may have too. */
export interface OrchestratorNames {
  /** A claim of the last token of an issuer's person. */
  ofPerson(id: string, claim: string): Promise<string | undefined>;
  /** The name of a configured user; undefined for any other id, such as that of a client. */
  ofUser(id: string): string | undefined;
  /** People of an issuer whose last token had this name in the claim. */
  idsNamed(issuer: string, claim: string, name: string): Promise<readonly string[]>;
}
