import { loadConfig } from '#config/load-config.ts';
import type { Command } from '../command.ts';
import { configFileArgument } from '../config-file-option.ts';
import { loadOrReport } from '../load-or-report.ts';

export const gatewayServe: Command = {
  name: 'serve',
  summary: 'start the gateway',
  description: [
    'Start the gateway. It prints one line to standard output when it is ready:',
    '"listening on http://127.0.0.1:3000"; the log goes to standard error.',
    'SIGHUP reloads the configuration while the gateway runs.',
    'SIGTERM or SIGINT waits up to 30 seconds for calls in flight, then stops the gateway.',
    'SIGUSR2 sets the log level to debug; the next SIGUSR2 restores it.',
  ],
  ...configFileArgument,
  async run(context, { option }) {
    const configFile = option('config');
    const loaded = await loadOrReport({ context, file: configFile, command: 'serve', load: loadConfig });
    if (loaded === undefined) return 1;
    const loadAgain = (): ReturnType<typeof loadConfig> => loadConfig({ file: configFile, env: context.env, cwd: context.cwd });
    return context.serve({ ...loaded, configFile, loadAgain });
  },
};
