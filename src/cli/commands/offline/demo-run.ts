import { maxPasswordBytes } from '#access/passwords/password-hash.ts';
import type { Command } from '../../command.ts';
import { program } from '../../texts/help.ts';

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
