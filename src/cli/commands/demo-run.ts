import { passwordBytesAtMost } from '#access/password-hash.ts';
import type { Command } from '../command.ts';
import { generatedPassword } from '../generated-password.ts';
import { program } from '../help.ts';

export const demoRun: Command = {
  name: 'demo',
  summary: 'start the gateway beside a demo orchestrator, to try it out',
  description: [
    'Start the gateway beside a demo orchestrator on this machine, and print calls to try.',
    'Outbound REST calls may reach loopback addresses here: not for production.',
    'The password of the user admin is taken from GATEWAY_ADMIN_PASSWORD; without it',
    'one is generated. It is printed, in calls that work as they stand.',
  ],
  options: {},
  operands: [],
  async run({ env, demo, stderr }) {
    const given = env['GATEWAY_ADMIN_PASSWORD'];
    // A login refuses longer ones.
    if (given !== undefined && Buffer.byteLength(given) > passwordBytesAtMost) {
      stderr.write(`${program} demo: GATEWAY_ADMIN_PASSWORD is longer than ${passwordBytesAtMost} bytes\n`);
      return 1;
    }
    return demo({ adminPassword: given === undefined || given === '' ? generatedPassword() : given });
  },
};
