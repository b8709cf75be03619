import { visible } from '#base/text/visible.ts';
import type { RepeatedRun } from '#client/gateway.ts';
import { followWords, inputOption, startFlags, startRun, tellStarted } from '../../follow/start-run.ts';
import { gatewayCommand } from '../../gateway-command.ts';
import { findRun, runOperand, runWords } from '../../lookups/run-lookup.ts';
import { readRunInput } from '../../run-input.ts';

export const runRerun = gatewayCommand({
  name: 'runs rerun',
  summary: 'start a run again, with the same input',
  description: [
    'Start another run of the same workflow in the same version, with the input of this one, and print its id.',
    'With --items failed each batch takes of its items only those that failed, were cancelled or did not start.',
    runWords,
    ...followWords,
  ],
  options: {
    input: { ...inputOption, meaning: `${inputOption.meaning}; without it that of the run` },
    items: {
      value: 'failed',
      default: '',
      meaning: 'of batches only what failed, was cancelled or did not start; without --input',
      values: ['failed'],
    },
    version: { value: 'VERSION', default: '', meaning: 'another version of the workflow, if you may write the workflow' },
  },
  flags: startFlags,
  operands: [runOperand],
  async work(session) {
    const { context, given, gateway } = session;
    const input = await readRunInput(context, given.option('input'));
    const text = (name: string): string | undefined =>
      given.option(name) === '' ? undefined : JSON.stringify(given.option(name));
    const id = await findRun(gateway, given.operand(runOperand));
    const members = { input, version: text('version'), items: text('items') };
    const run: RepeatedRun = await startRun(session, 'rerunRun', { id, members });
    for (const warning of run.warnings ?? []) context.stderr.write(`${visible(warning)}\n`);
    return await tellStarted(session, run, undefined);
  },
});
