import { applyPatch, structuredPatch } from 'diff';
import { withVersion } from './version-text.ts';

interface Texts {
  /** What both people began with. */
  readonly base: string;
  readonly theirs: string;
  readonly mine: string;
}

/** Lines that a person changed, at most; beyond that they would take too long to find. */
const maxEdits = 4_000;

/**
 * The text of the other person with the changes of this one over it, and with that version. Undefined where both changed the same lines, so
 * that a person has to do it.
 */
export function textOver({ base, theirs, mine }: Texts, version: string): string | undefined {
  // Both wrote a version of their own.
  const [before = '', young = '', own = ''] = [base, theirs, mine].map((text) => withVersion(text, version) ?? text);
  const patch = structuredPatch('', '', before, own, undefined, undefined, { context: 1, maxEditLength: maxEdits });
  const put = patch === undefined ? false : applyPatch(young, patch);
  return put === false ? undefined : put;
}
