import { existsSync } from 'node:fs';
import { basename, delimiter, dirname, join, relative } from 'node:path';
import { program } from './texts/help.ts';

interface Started {
  /** `process.argv0`: the executable as it was written, such as `node` or `node_modules/.bin/node`. */
  readonly argv0: string;
  /** `process.argv[1]`: the absolute name of the script, or of the link in a `bin` folder. */
  readonly script: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/** The words with which the program was started, so that a message can name a command that works when it is typed again. */
export function invocationOf({ argv0, script, env, cwd }: Started): string {
  const folders = (env['PATH'] ?? '').split(delimiter);
  if (basename(script) === program) {
    if (env['npm_command'] === 'exec') return `npx ${program}`;
    return folders.includes(dirname(script)) ? program : shellWord(shortened(script, cwd));
  }
  // npm puts the Node.js of this folder in front of PATH for its scripts only. The shell has perhaps another one, and `npx` finds the right one.
  if (env['npm_command'] !== undefined && !argv0.includes('/') && isCheckout(script, cwd)) return `npx ${program}`;
  return [argv0, shortened(script, cwd)].map(shellWord).join(' ');
}

/** True for the `src/main.ts` of the checkout that is the working directory. */
function isCheckout(script: string, cwd: string): boolean {
  return dirname(dirname(script)) === cwd && existsSync(join(cwd, 'src', 'launcher.cjs'));
}

/** A file inside the working directory by its relative name. */
function shortened(file: string, cwd: string): string {
  const name = relative(cwd, file);
  return name.startsWith('..') || name === '' ? file : name;
}

/** `text` as one word of a shell, in quotes only where it needs them. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=-]+$/u.test(text) ? text : shellQuoted(text);
}

/** `text` as one word of a POSIX shell (XCU 2.2.2): in single quotes; single quotes of the text are outside of them, escaped. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
