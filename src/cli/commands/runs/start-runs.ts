import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { visible } from '#base/text/visible.ts';
import { GatewayError, type RepeatedRun, type Run } from '#client/gateway.ts';
import { followToEnd } from '../../follow-to-end.ts';
import { gatewayCommand } from '../../gateway-command.ts';
import { neverReached } from '../../gateway-fault.ts';
import { exact, type GatewaySession } from '../../gateway-session.ts';
import { readRunInput } from '../../input-files.ts';
import { shellWord } from '../../invocation.ts';
import { findAutomation, findRun, runOperand, runWords } from '../../name-lookup.ts';
import { print } from '../../output.ts';

/** Of the commands that start a run. */
export const startFlags = {
  follow: 'print the tasks of the run as they end, and wait for the end of the run',
  json: 'print the run as one JSON value; with --follow as it ended',
} as const;

export const inputOption = {
  value: 'FILE',
  meaning: 'the input of the run: an object in YAML or JSON; "-" is standard input',
} as const;

/** For the descriptions of those commands. */
export const followWords: readonly string[] = [
  'With --follow the command prints each task as it ends, each approval that the run waits for with its',
  'link, and then the output of the run. The exit code is 0 if it is completed, 1 if it is faulted or',
  'cancelled, 3 if it is suspended. Ctrl-C ends the command and not the run.',
];

/** Members of the request as JSON text; those that are undefined are left out. */
type StartMembers = Readonly<Partial<Record<'input' | 'items' | 'notBefore' | 'version', string | undefined>>>;

const maxAttempts = 3;

/** `operation`: with the id of an automation, or of the run to repeat. The idempotency key makes a repetition safe: two requests start one run. */
export async function startRun(
  { gateway }: Pick<GatewaySession, 'gateway'>,
  operation: 'rerunRun' | 'runAutomation',
  { id, members }: { readonly id: string; readonly members: StartMembers },
): Promise<RepeatedRun | Run> {
  const idempotencyKey = randomUUID();
  const given = Object.entries(members).flatMap(([name, text]) => (text === undefined ? [] : [`"${name}":${text}`]));
  const rawBody = `{${given.join(',')}}`;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return exact(await gateway[operation]({ path: { id }, rawBody, idempotencyKey }));
    } catch (error) {
      const brokeOff = error instanceof GatewayError && error.code === 'no-reply' && !neverReached(error);
      if (!brokeOff || attempt === maxAttempts) throw error;
      await sleep(500);
    }
  }
}

/** Prints the id of a run that started, or follows it. Resolves with the exit code. `name`: of its automation. */
export async function tellStarted(session: GatewaySession, run: Run, name: string | undefined): Promise<number> {
  const { context, given } = session;
  if (given.flag('follow')) return await followToEnd({ session, run, name });
  await print(context.stdout, given.flag('json') ? `${JSON.stringify(run, undefined, 2)}\n` : `${visible(run.id)}\n`);
  context.stderr.write(`The run has started. See it: ${context.invocation} runs show ${shellWord(run.id)}\n`);
  return 0;
}

export const runStart = gatewayCommand({
  name: 'run',
  summary: 'run an automation, and follow it to its end',
  description: ['Run an automation, which its name or its _id names, and print the id of the run.', ...followWords],
  options: {
    input: inputOption,
    version: { value: 'VERSION', meaning: 'the version of the workflow, if you may write the workflow' },
    'not-before': {
      value: 'TIME',
      meaning: 'no change leaves before this time, at most 7 days ahead; queries and approvals happen at once',
    },
  },
  flags: startFlags,
  operands: ['AUTOMATION'],
  async work(session) {
    const { context, given, gateway } = session;
    const input = await readRunInput(context, given.option('input'));
    const { _id, name } = await findAutomation(gateway, given.operand('AUTOMATION'));
    const members = { input, version: jsonOption(given, 'version'), notBefore: jsonOption(given, 'not-before') };
    const run = await startRun(session, 'runAutomation', { id: _id, members });
    return await tellStarted(session, run, name);
  },
});

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
      meaning: 'of batches only what failed, was cancelled or did not start; without --input',
      values: ['failed'],
    },
    version: { value: 'VERSION', meaning: 'another version of the workflow, if you may write the workflow' },
  },
  flags: startFlags,
  operands: [runOperand],
  async work(session) {
    const { context, given, gateway } = session;
    const input = await readRunInput(context, given.option('input'));
    const id = await findRun(gateway, given.operand(runOperand));
    const members = { input, version: jsonOption(given, 'version'), items: jsonOption(given, 'items') };
    const run: RepeatedRun = await startRun(session, 'rerunRun', { id, members });
    for (const warning of run.warnings ?? []) context.stderr.write(`${visible(warning)}\n`);
    return await tellStarted(session, run, undefined);
  },
});

function jsonOption({ option }: GatewaySession['given'], name: string): string | undefined {
  return option(name) === '' ? undefined : JSON.stringify(option(name));
}
