import { loadConfig } from '#config/load-config.ts';
import type { Command } from '../../command.ts';
import { configFileArgument } from '../../config-file-option.ts';
import { loadOrReport } from '../../load-or-report.ts';

export const gatewayServe: Command = {
  name: 'serve',
  summary: 'start the gateway',
  description: [
    'Start the gateway. It prints one line to standard output when it is ready:',
    '"listening on http://127.0.0.1:3000"; the log goes to standard error.',
    'SIGHUP reloads the configuration while the gateway runs.',
    'SIGTERM or SIGINT waits for calls in flight (server.drain: 30 seconds by default), then stops the gateway.',
    'SIGUSR2 sets the log level to debug; the next SIGUSR2 restores it.',
  ],
  ...configFileArgument,
  async run(context, { option }) {
    const configFile = option('config');
    const loaded = await loadOrReport({ context, file: configFile, command: 'serve', load: loadConfig });
    if (loaded === undefined) return 1;
    const { env, cwd } = context;
    const { secrets } = loaded;
    const loadAgain = (): ReturnType<typeof loadConfig> => loadConfig({ file: configFile, env, cwd, secrets });
    return context.serve({ ...loaded, configFile, loadAgain });
  },
};
