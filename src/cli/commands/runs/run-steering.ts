import { visible } from '#base/text/visible.ts';
import type { Run } from '#client/gateway.ts';
import type { Command } from '../../command.ts';
import { answeringCommand } from '../../gateway-command.ts';
import { findRun, openRunWords, runOperand } from '../../lookups/run-lookup.ts';

interface Steering {
  readonly name: string;
  readonly operation: 'cancelRun' | 'resumeRun' | 'suspendRun';
  readonly summary: string;
  readonly what: readonly string[];
  /** Where the run is not there yet, the exit code is 1. */
  readonly reached: readonly Run['status'][];
}

export const runCancel = steeringCommand({
  name: 'runs cancel',
  operation: 'cancelRun',
  summary: 'cancel a run',
  what: ['Cancel a run and the runs that it began: no further task begins, and a call in flight is aborted.'],
  reached: ['cancelled'],
});

export const runSuspend = steeringCommand({
  name: 'runs suspend',
  operation: 'suspendRun',
  summary: 'suspend a run',
  what: ['Suspend a run and the runs that it began: no further task begins until people resume it.'],
  reached: ['suspended'],
});

export const runResume = steeringCommand({
  name: 'runs resume',
  operation: 'resumeRun',
  summary: 'let a suspended run go on',
  what: ['Let a suspended run go on. A call with an unknown outcome needs "runs decide" in place of it.'],
  reached: ['pending', 'running', 'waiting', 'completed', 'faulted', 'cancelled'],
});

function steeringCommand({ name, operation, summary, what, reached }: Steering): Command {
  return answeringCommand({
    name,
    summary,
    description: [...what, 'Print the state of the run.', openRunWords],
    operands: [runOperand],
    async answer({ gateway, given }) {
      const id = await findRun(gateway, given.operand(runOperand), true);
      const path = { id };
      const run = (await (operation === 'resumeRun' ? gateway.resumeRun({ path, body: {} }) : gateway[operation]({ path })))
        .value;
      const isThere = reached.includes(run.status);
      return {
        value: run,
        lines: [visible(run.status)],
        ...(!isThere && { hint: 'The run has not taken it yet. It does so as soon as a gateway holds it.', exitCode: 1 }),
      };
    },
  });
}
