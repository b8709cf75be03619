import { GatewayError } from '#base/gateway-error.ts';
import { loadAddress } from '#config/load-config.ts';
import type { Command } from '../../command.ts';
import { configFileArgument } from '../../config-file-option.ts';
import { loadOrReport } from '../../load-or-report.ts';
import { program } from '../../texts/help.ts';

export const healthCheck: Command = {
  name: 'healthcheck',
  summary: 'exit with 0 where the gateway of the configuration is alive',
  description: [
    'Ask the gateway that listens at server.host and server.port of the configuration for /healthz, or with',
    '--ready for /readyz. The exit code is 0 where it answers with status 200, otherwise 1. For a container',
    'or a monitor on the same machine; it needs no login, and reads no secret.',
  ],
  ...configFileArgument,
  flags: { ready: 'ask for /readyz: whether the gateway can use its store' },
  async run(context, { option, flag }) {
    const loaded = await loadOrReport({ context, file: option('config'), command: 'healthcheck', load: loadAddress });
    if (loaded === undefined) return 1;
    const { host, port, tls } = loaded.config.server;
    const complain = (text: string): number => {
      context.stderr.write(`${program} healthcheck: ${text}\n`);
      return 1;
    };
    if (port === 0) return complain('server.port is 0, so the port is not known; set a port');
    const url = `${tls === undefined ? 'http' : 'https'}://${localHost(host)}:${port}${flag('ready') ? '/readyz' : '/healthz'}`;
    try {
      const status = await (await context.maintenance()).checkHealth(url);
      return status === 200 ? 0 : complain(`${url} answers with status ${status}`);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return complain(error.message);
    }
  },
};

/** Where a gateway that listens on every interface is reached from its own machine. */
function localHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
