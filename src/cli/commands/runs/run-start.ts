import { followWords, inputOption, startFlags, startRun, tellStarted } from '../../follow/start-run.ts';
import { gatewayCommand } from '../../gateway-command.ts';
import { findAutomation } from '../../lookups/automation-lookup.ts';
import { readRunInput } from '../../run-input.ts';

export const runStart = gatewayCommand({
  name: 'run',
  summary: 'run an automation, and follow it to its end',
  description: ['Run an automation, which its name or its _id names, and print the id of the run.', ...followWords],
  options: {
    input: inputOption,
    version: { value: 'VERSION', default: '', meaning: 'the version of the workflow, if you may write the workflow' },
    'not-before': {
      value: 'TIME',
      default: '',
      meaning: 'no change leaves before this time, at most 7 days ahead; queries and approvals happen at once',
    },
  },
  flags: startFlags,
  operands: ['AUTOMATION'],
  async work(session) {
    const { context, given, gateway } = session;
    const input = await readRunInput(context, given.option('input'));
    const { _id, name } = await findAutomation(gateway, given.operand('AUTOMATION'));
    const text = (name: string): string | undefined =>
      given.option(name) === '' ? undefined : JSON.stringify(given.option(name));
    const members = { input, version: text('version'), notBefore: text('not-before') };
    const run = await startRun(session, 'runAutomation', { id: _id, members });
    return await tellStarted(session, run, name);
  },
});
