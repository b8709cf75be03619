import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { systemCode } from '#base/system-code.ts';
import { ConfigError, formatConfigProblem } from '#config/config-problem.ts';
import { type LoadedConfig, loadConfig } from '#config/load-config.ts';
import type { CommandContext } from './command.ts';
import { program } from './help.ts';

/**
 * The configuration. If it has problems, writes each as a line to standard error and returns undefined. `command`: a command that
 * cannot run without a configuration; if there is no file, the message says how to make one.
 */
export async function loadOrReport(context: CommandContext, file: string, command?: string): Promise<LoadedConfig | undefined> {
  if (command !== undefined && !(await exists(resolve(context.cwd, file)))) {
    context.stderr.write(
      `${program} ${command}: there is no ${file}\n` +
        `Write one with "${program} init", name another with --config FILE, or try the gateway out with "${program} demo".\n`,
    );
    return undefined;
  }
  try {
    return await loadConfig({ file, env: context.env, cwd: context.cwd });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const problem of error.problems) context.stderr.write(`${formatConfigProblem(problem)}\n`);
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
