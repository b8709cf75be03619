import { maxPasswordBytes } from '#access/passwords/password-hash.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { loadAddress, loadConfig } from '#config/load-config.ts';
import type { Command } from '../../command.ts';
import { configFileArgument } from '../../config-file-option.ts';
import { loadOrReport } from '../../load-or-report.ts';
import { program } from '../../texts/help.ts';

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

export const demoRun: Command = {
  name: 'demo',
  summary: 'start the gateway with a demo orchestrator, to try it out',
  description: [
    'Start the gateway and a demo orchestrator on this machine, and print calls to try.',
    'Not for production: REST calls may reach loopback addresses.',
    'The password of the user admin is GATEWAY_ADMIN_PASSWORD; if that is not set, a',
    'password is generated and kept in data/demo-passwords.json for the next start.',
    'It is part of the printed calls, which can be copied and run.',
  ],
  options: {},
  operands: [],
  async run({ env, demo, stderr, invocation }) {
    const given = env['GATEWAY_ADMIN_PASSWORD'];
    // A login refuses longer passwords.
    if (given !== undefined && Buffer.byteLength(given) > maxPasswordBytes) {
      stderr.write(`${program} demo: GATEWAY_ADMIN_PASSWORD is longer than ${maxPasswordBytes} bytes\n`);
      return 1;
    }
    return demo({ adminPassword: given === '' ? undefined : given, invocation });
  },
};

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
