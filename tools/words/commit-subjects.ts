import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { bannedWords } from './prose.ts';

const run = promisify(execFile);

/** The last commit that was made before `npm run check` held this rule. */
const lastFree = 'd7c7052ef205421a8b82ccc8be44936f937f2706';
/** Characters: what `git log --oneline` shows in a terminal of 80 columns. */
const maxSubjectLength = 72;

/** Commits since the rule whose subject breaks it; none in a copy without history, such as an archive. */
export async function commitProblems(): Promise<readonly { readonly commit: string; readonly problem: string }[]> {
  const log = await run('git', ['log', '--no-merges', '--format=%h %s', `${lastFree}..HEAD`]).catch(() => undefined);
  return (log?.stdout.split('\n') ?? []).flatMap((line) =>
    subjectProblems(line.split(' ', 1)[0] ?? '', line.slice(line.indexOf(' ') + 1)),
  );
}

export function subjectProblems(
  commit: string,
  subject: string,
): readonly { readonly commit: string; readonly problem: string }[] {
  const problems = bannedWords({ line: 1, text: subject }).map(({ problem }) => problem);
  if (subject.length > maxSubjectLength)
    problems.push(`a subject of ${subject.length} characters: say what changed in ${maxSubjectLength}, and why in the body`);
  return problems.map((problem) => ({ commit, problem }));
}
