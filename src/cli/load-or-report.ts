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
  /** Takes each problem of the configuration. Default: a line of standard error. */
  readonly tell?: (problem: string) => Promise<void>;
}

/** The configuration. If there is none, standard error says so; if it has problems, `tell` gets them. Then the result is undefined. */
export async function loadOrReport<Loaded>(loading: Loading<Loaded>): Promise<Loaded | undefined> {
  const { context, file, command, load } = loading;
  const { cwd, env, stderr, invocation } = context;
  const { tell = async (problem: string) => void stderr.write(`${problem}\n`) } = loading;
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
    for (const problem of error.problems) await tell(formatConfigProblem(problem));
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
