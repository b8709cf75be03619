import { ConfigError, formatConfigProblem } from '#config/config-problem.ts';
import { type LoadedConfig, loadConfig } from '#config/load-config.ts';
import type { CommandContext } from './command.ts';

/** The configuration, or undefined after every problem was written to standard error, a line each. */
export async function loadOrReport(context: CommandContext, file: string): Promise<LoadedConfig | undefined> {
  try {
    return await loadConfig({ file, env: context.env, cwd: context.cwd });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const problem of error.problems) context.stderr.write(`${formatConfigProblem(problem)}\n`);
    return undefined;
  }
}
