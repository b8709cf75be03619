import { existsSync } from 'node:fs';
import { basename, delimiter, dirname, join, relative } from 'node:path';
import { shellQuoted } from '#base/shell-quoted.ts';
import { program } from './help.ts';

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
  // npm puts the Node of this folder in front of PATH, for its scripts only. The shell has perhaps another one.
  const inNpm = env['npm_command'] !== undefined && !argv0.includes('/');
  const found = inNpm ? folders.map((folder) => join(folder, argv0)).find((file) => existsSync(file)) : undefined;
  return [found === undefined ? argv0 : shortened(found, cwd), shortened(script, cwd)].map(shellWord).join(' ');
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
