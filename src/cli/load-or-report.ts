import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { systemCode } from '#base/system-code.ts';
import { ConfigError, formatConfigProblem, type LoadOptions } from '#config/load-config.ts';
import type { CommandContext } from './command.ts';
import { program } from './texts/help.ts';

interface Loading<Loaded> {
  readonly context: CommandContext;
  /** The configuration, relative to the working directory. */
  readonly file: string;
  /** The name of the command, for its messages. */
  readonly command: string;
  /** Rejects with a ConfigError. */
  readonly load: (options: LoadOptions) => Promise<Loaded>;
}

/** The configuration. If there is none, or it has problems, standard error says so, and the result is undefined. */
export async function loadOrReport<Loaded>({ context, file, command, load }: Loading<Loaded>): Promise<Loaded | undefined> {
  const { cwd, env, stderr, invocation } = context;
  if (!(await exists(resolve(cwd, file)))) {
    stderr.write(
      `${program} ${command}: there is no ${file}\n` +
        `Write one with "${invocation} init", name another with --config FILE, or try the gateway out with "${invocation} demo".\n`,
    );
    return undefined;
  }
  try {
    return await load({ file, env, cwd });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const problem of error.problems) stderr.write(`${formatConfigProblem(problem)}\n`);
    return undefined;
  }
}

async function exists(file: string): Promise<boolean> {
  try {
    await stat(file);
    return true;
  } catch (error) {
    return systemCode(error) !== 'ENOENT';
  }
}
