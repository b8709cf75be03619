import { visible } from '#base/visible.ts';
import type { Command } from '../command.ts';
import { gatewayOptions, loginWords, withSession } from '../gateway-session.ts';
import { print } from '../output.ts';

export const runCancel: Command = {
  name: 'runs cancel',
  summary: 'cancel a run',
  description: [
    'Cancel a run and the runs that it began: no further task begins, and a call in flight is aborted.',
    'Print the state of the run.',
    '',
    ...loginWords,
  ],
  options: gatewayOptions,
  operands: ['RUN'],
  run: (context, given) =>
    withSession({ context, given, command: 'runs cancel' }, async ({ gateway }) => {
      const { status } = (await gateway.cancelRun({ path: { id: given.operand('RUN') } })).value;
      await print(context.stdout, `${visible(status)}\n`);
      if (status === 'cancelled') return 0;
      context.stderr.write('The run has not taken the cancel yet. It does so as soon as a gateway holds it.\n');
      return 1;
    }),
};
