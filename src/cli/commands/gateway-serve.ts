import { loadConfig } from '#config/load-config.ts';
import type { Command } from '../command.ts';
import { configFileOption } from '../config-file-option.ts';
import { loadOrReport } from '../load-or-report.ts';

export const gatewayServe: Command = {
  name: 'serve',
  summary: 'start the gateway',
  description: [
    'Start the gateway. Standard output gets one line when it is ready:',
    '"listening on http://127.0.0.1:3000"; the log goes to standard error.',
    'SIGHUP takes the configuration in again while the gateway runs;',
    'SIGTERM or SIGINT lets calls in flight finish, 30 seconds at most.',
    'SIGUSR2 has the log at level debug, a second one as it was.',
  ],
  options: { config: configFileOption },
  operands: [],
  async run(context, { option }) {
    const configFile = option('config');
    const loaded = await loadOrReport(context, configFile, 'serve');
    if (loaded === undefined) return 1;
    const loadAgain = (): ReturnType<typeof loadConfig> => loadConfig({ file: configFile, env: context.env, cwd: context.cwd });
    return context.serve({ ...loaded, configFile, loadAgain });
  },
};
