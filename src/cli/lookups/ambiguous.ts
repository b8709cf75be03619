import { visible } from '#base/text/visible.ts';
import { CommandFailed } from '../gateway-session.ts';

/** Of several things that a person may mean: the command ends with exit code 2 and names them. */
export function ambiguous(wanted: string, what: string, candidates: readonly string[]): CommandFailed {
  const shown = candidates.slice(0, 20).map((candidate) => `  ${visible(candidate)}`);
  return new CommandFailed(`${quoted(wanted)} may mean several ${what}:\n${shown.join('\n')}`, 2);
}

export function quoted(text: string): string {
  return JSON.stringify(visible(text));
}
