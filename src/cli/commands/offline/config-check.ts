import { formatConfigProblem, loadConfig } from '#config/load-config.ts';
import type { Command } from '../../command.ts';
import { configFileArgument } from '../../config-file-option.ts';
import { loadOrReport } from '../../load-or-report.ts';
import { print } from '../../output.ts';

export const configCheck: Command = {
  name: 'check-config',
  summary: 'check a configuration and print its problems',
  description: [
    'Read a configuration and everything that it names (files, environment variables), as serve',
    'does. Print "FILE: ok", or every problem with its line and column to standard error.',
  ],
  ...configFileArgument,
  async run(context, { option }) {
    const file = option('config');
    const loaded = await loadOrReport({ context, file, command: 'check-config', load: loadConfig });
    if (loaded === undefined) return 1;
    for (const warning of loaded.warnings) context.stderr.write(`${formatConfigProblem(warning)} (warning)\n`);
    await print(context.stdout, `${file}: ok\n`);
    return 0;
  },
};
