import type { Principal } from './principal.ts';

/** How a principal had a hand in a call: docs/security.md says what each of them did. */
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

/** A principal on record. Rights and comparisons use the id alone; the name is for reading. */
export type NamedPrincipal = Pick<Principal, 'id' | 'username'>;

/** A principal that had a hand in a call. None of them may grant it. */
export interface InvolvedPrincipal extends NamedPrincipal {
  readonly as: readonly Involvement[];
}

/** The principal with its roles and groups of this moment. Undefined: it was removed, or the gateway has not seen it for too long. */
export type PrincipalNow = (id: string) => Promise<Principal | undefined>;
