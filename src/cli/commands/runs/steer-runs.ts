import { visible } from '#base/text/visible.ts';
import type { Gateway, Run } from '#client/gateway.ts';
import type { Command } from '../../command.ts';
import { answeringCommand } from '../../gateway-command.ts';
import { CommandFailed, exact } from '../../gateway-session.ts';
import { readRunInput } from '../../input-files.ts';
import { findRun, findTask, openRunWords, runOperand } from '../../name-lookup.ts';
import { isUndecided } from '../../texts/run-words.ts';

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

export const runRelease = answeringCommand({
  name: 'runs release',
  summary: 'let runs go on that were under way when the store lost commits',
  description: [
    'Let the runs go on that a loss of the store suspended (store-loss), and print how many they are.',
    'Look at the upstreams first: of each run, people decide about the first call without an outcome.',
  ],
  options: { reason: { value: 'TEXT', meaning: 'why they may go on; on record', isRequired: true } },
  async answer({ gateway, given }) {
    const { value } = await gateway.releaseRuns({ body: { reason: given.option('reason') } });
    return { value, lines: [String(value.released)] };
  },
});

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
    task: { value: 'TASK', meaning: 'the task of the call: its name or its id' },
    items: {
      value: 'INDICES',
      meaning: 'in place of a call: undecided items of a batch, such as 3,17, or unknown: all of them',
    },
    expected: { value: 'N', meaning: 'with --items unknown: how many these are' },
    as: {
      value: 'OUTCOME',
      meaning: 'done: the call happened; failed: it did not, and the task fails; again: it is made again',
      values: ['done', 'failed', 'again'],
      isRequired: true,
    },
    reason: { value: 'TEXT', meaning: 'why it is so; on record', isRequired: true },
    output: { value: 'FILE', meaning: 'with --as done: the output of the task, an object in YAML or JSON' },
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
