import { visible } from '#base/text/visible.ts';
import type { Gateway } from '#client/gateway.ts';
import { answeringCommand } from '../../gateway-command.ts';
import { CommandFailed, exact } from '../../gateway-session.ts';
import { findRun, findTask, openRunWords, runOperand } from '../../lookups/run-lookup.ts';
import { readRunInput } from '../../run-input.ts';
import { isUndecided } from '../../texts/run-words.ts';

export const runDecide = answeringCommand({
  name: 'runs decide',
  summary: 'decide what happened to a call with an unknown outcome',
  description: [
    'Decide what happened to a call of a suspended run whose outcome is unknown, and let the run go on.',
    'Find out at the upstream first. Print the state of the run.',
    'With --items the decision is for several items of a batch, and --task names the batch where there are several.',
    openRunWords,
  ],
  options: {
    task: { value: 'TASK', default: '', meaning: 'the task of the call: its name or its id' },
    items: {
      value: 'INDICES',
      default: '',
      meaning: 'in place of a call: undecided items of a batch, such as 3,17, or unknown: all of them',
    },
    expected: { value: 'N', default: '', meaning: 'with --items unknown: how many these are' },
    as: {
      value: 'OUTCOME',
      default: '',
      meaning: 'done: the call happened; failed: it did not, and the task fails; again: it is made again',
      values: ['done', 'failed', 'again'],
      isRequired: true,
    },
    reason: { value: 'TEXT', default: '', meaning: 'why it is so; on record', isRequired: true },
    output: { value: 'FILE', default: '', meaning: 'with --as done: the output of the task, an object in YAML or JSON' },
  },
  operands: [runOperand],
  async answer({ context, gateway, given: { operand, option } }) {
    const named = { task: option('task'), items: readItems(option('items')), expected: readCount(option('expected')) };
    if (named.task === '' && named.items === undefined) throw new CommandFailed('--task or --items is required', 2);
    const id = await findRun(gateway, operand(runOperand), named.items === undefined);
    const output = await readRunInput(context, option('output'), 'output');
    const decision = JSON.stringify({ ...(await decided(gateway, id, named)), as: option('as'), reason: option('reason') });
    const rawBody = output === undefined ? decision : `${decision.slice(0, -1)},"output":${output}}`;
    const run = exact(await gateway.decideRun({ path: { id }, rawBody }));
    return { value: run, lines: [visible(run.status)] };
  },
});

interface Named {
  /** Empty: none. */
  readonly task: string;
  readonly items: readonly number[] | 'unknown' | undefined;
  readonly expected: number | undefined;
}

/** What the decision is about. */
async function decided(gateway: Gateway, run: string, { task, items, expected }: Named): Promise<Partial<Named>> {
  const isWanted = items === undefined ? isUndecided : () => true;
  const found = task === '' ? {} : { task: (await findTask(gateway, { run, wanted: task, isWanted })).id };
  return { ...found, ...(items !== undefined && { items }), ...(expected !== undefined && { expected }) };
}

function readItems(text: string): Named['items'] {
  if (text === '' || text === 'unknown') return text === '' ? undefined : text;
  const indices = text.split(',').map((index) => index.trim());
  if (indices.every((index) => /^\d{1,9}$/u.test(index))) return indices.map(Number);
  throw new CommandFailed('--items is neither a list of indices such as 3,17 nor unknown', 2);
}

function readCount(text: string): number | undefined {
  if (text === '') return undefined;
  if (/^[1-9]\d{0,8}$/u.test(text)) return Number(text);
  throw new CommandFailed('--expected is no whole number of at least 1', 2);
}
