import { execFile } from 'node:child_process';
import { systemCode } from '#base/system-code.ts';
import { visible } from '#base/text/visible.ts';
import { secretLimit, withoutLineBreak } from './file-source.ts';
import type { SourceRead, ValueSource } from './value-source.ts';

/** Characters of standard error for the log. */
const errorTextLimit = 200;

interface Program {
  /** The program first. */
  readonly words: readonly string[];
  /** Milliseconds. */
  readonly ttl: number;
  readonly timeout: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly directory: string;
}

/** What a program prints, without one final line break. It has no shell, no standard input, and of the environment only three variables. */
export function execSource({ words, ttl, timeout, env, directory }: Program): ValueSource {
  const [program = '', ...args] = words;
  const clean = Object.fromEntries(['PATH', 'HOME', 'LANG'].flatMap((key) => (env[key] === undefined ? [] : [[key, env[key]]])));
  const said = `the program ${JSON.stringify(program)}`;
  const options = {
    cwd: directory,
    env: clean,
    encoding: 'buffer',
    maxBuffer: secretLimit,
    shell: false,
    timeout,
    killSignal: 'SIGKILL',
  } as const;
  return {
    name: `exec ${JSON.stringify(words)}`,
    key: JSON.stringify(['exec', words, ttl, timeout]),
    ttl,
    read: () =>
      new Promise<SourceRead>((resolve) => {
        const child = execFile(program, args, options, (error, stdout, stderr) => {
          if (error === null) resolve(textOf(stdout, said));
          else resolve({ fault: `${said} ${faultOf(error, timeout)}`, detail: firstOf(stderr) });
        });
        child.stdin?.on('error', () => {});
        child.stdin?.end();
      }),
  };
}

function textOf(stdout: Buffer, said: string): SourceRead {
  try {
    return { text: withoutLineBreak(new TextDecoder('utf-8', { fatal: true }).decode(stdout)) };
  } catch {
    return { fault: `${said} printed no UTF-8 text` };
  }
}

function firstOf(stderr: Buffer): string {
  return visible(stderr.toString('utf8').trim()).slice(0, errorTextLimit);
}

interface ExecFault {
  readonly code?: number | string | null | undefined;
  readonly killed?: boolean | undefined;
  readonly signal?: NodeJS.Signals | undefined;
}

function faultOf(error: ExecFault, timeout: number): string {
  const code = systemCode(error) ?? error.code;
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `printed more than ${secretLimit} bytes`;
  if (error.killed === true) return `did not end within ${timeout} ms`;
  if (typeof error.code === 'number') return `ended with exit code ${error.code}`;
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EACCES') return 'may not be run by this user';
  return `could not be run (${error.signal ?? code ?? 'unknown'})`;
}
