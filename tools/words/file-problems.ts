import { hashComments } from './hash-comments.ts';
import { markdownProse } from './markdown-prose.ts';
import { bannedWords, proseProblems } from './prose.ts';
import { sourceProse } from './source-prose.ts';

/** Texts that are not ours to word: the licence, and the rules' own examples. */
const exceptions: readonly RegExp[] = [/^LICENSE$/u, /^tools\/words\//u, /package-lock\.json$/u, /^client\/src\/generated\//u];

/** Every problem of a file of the project, by its path from the root; none where no person reads the file as prose. */
export function fileProblems(file: string, text: string): readonly { readonly line: number; readonly problem: string }[] {
  if (exceptions.some((pattern) => pattern.test(file))) return [];
  if (file.endsWith('.md')) return markdownProse(text).flatMap(proseProblems);
  if (/\.m?[jt]sx?$/u.test(file)) {
    const { comments, testNames, literals } = sourceProse(file, text);
    return [...comments.flatMap(proseProblems), ...testNames.flatMap(proseProblems), ...literals.flatMap(bannedWords)];
  }
  if (/\.ya?ml$|\.cfg$|\.service$|^\.ci\/run$/u.test(file)) return hashComments(text).flatMap(proseProblems);
  return [];
}
