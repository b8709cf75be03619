/**
 * Holds what a person reads to plain technical English: docs, comments, test names, messages and commit subjects.
 *
 *   npm run check:words [-- PATH…]      a file or a folder; without one, the whole project
 *
 * Exits with 1 where it finds a problem, and says for each how to mend it.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { commitProblems } from './words/commit-subjects.ts';
import { fileProblems } from './words/file-problems.ts';

const run = promisify(execFile);

const paths = process.argv.slice(2);
// Files that are not committed yet are read too; those that git ignores are not.
const listed = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...paths]);
let problems = 0;
const say = (place: string, problem: string): void => {
  problems += 1;
  console.log(`${place}: ${problem}`);
};
for (const file of new Set(listed.stdout.split('\0'))) {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) continue;
  for (const { line, problem } of fileProblems(file, text)) say(`${file}:${line}`, problem);
}
if (paths.length === 0) for (const { commit, problem } of await commitProblems()) say(commit, problem);
if (problems > 0) {
  console.log(
    `\n${problems === 1 ? '1 problem' : `${problems} problems`}. Write a named subject, an active verb, the standard term (CONTRIBUTING.md, "Words").`,
  );
  process.exitCode = 1;
}
