import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { visible } from '#base/visible.ts';
import { durationText, type Gateway, GatewayError, type Run } from '#client/gateway.ts';
import { findAutomation } from '../automation-lookup.ts';
import type { Command, CommandContext } from '../command.ts';
import { fitted } from '../display-width.ts';
import { followRun } from '../follow-run.ts';
import { neverReached } from '../gateway-fault.ts';
import { exact, type GatewaySession, gatewayOptions, loginWords, withSession } from '../gateway-session.ts';
import { program } from '../help.ts';
import { shellWord } from '../invocation.ts';
import { createRunTimeline, type LifecycleEvent } from '../lifecycle-event.ts';
import { print } from '../output.ts';
import { createProgressLine } from '../progress-line.ts';
import { readRunInput } from '../run-input.ts';
import { between, errorText } from '../run-words.ts';
import { tellApprovals } from '../waiting-approvals.ts';

/** Exit codes of `--follow`. */
const codeOf: Readonly<Partial<Record<Run['status'], number>>> = { completed: 0, faulted: 1, cancelled: 1, suspended: 3 };

export const runStart: Command = {
  name: 'run',
  summary: 'run an automation, and follow it to its end',
  description: [
    'Run an automation, which its exact name or its _id names, and print the id of the run.',
    'With --follow the command prints each task as it ends, each approval that the run waits for with its',
    'link, and then the output of the run. The exit code is 0 if it is completed, 1 if it is faulted or',
    'cancelled, 3 if it is suspended. Ctrl-C ends the command and not the run.',
    '',
    ...loginWords,
  ],
  options: {
    ...gatewayOptions,
    input: { value: 'FILE', default: '', meaning: 'the input of the run: an object in YAML or JSON; "-" is standard input' },
  },
  flags: { follow: 'print the tasks of the run as they end, and wait for the end of the run' },
  operands: ['AUTOMATION'],
  run: (context, given) =>
    withSession({ context, given, command: 'run' }, async (session) => {
      const file = given.option('input');
      const input = file === '' ? undefined : await readRunInput(context, file);
      const { _id, name } = await findAutomation(session.gateway, given.operand('AUTOMATION'));
      const run = await started(session.gateway, _id, input);
      if (given.flag('follow')) return await follow({ context, session, run, name });
      await print(context.stdout, `${visible(run.id)}\n`);
      const show = `${context.invocation} runs show ${shellWord(run.id)}`;
      context.stderr.write(`The run has started. See it: ${show}\n`);
      return 0;
    }),
};

const mostAttempts = 3;

/** The idempotency key makes a repetition safe: two requests start one run. */
async function started(gateway: Gateway, id: string, input: string | undefined): Promise<Run> {
  const idempotencyKey = randomUUID();
  const rawBody = input === undefined ? '{}' : `{"input":${input}}`;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return exact(await gateway.runAutomation({ path: { id }, rawBody, idempotencyKey }));
    } catch (error) {
      const brokeOff = error instanceof GatewayError && error.code === 'no-reply' && !neverReached(error);
      if (!brokeOff || attempt === mostAttempts) throw error;
      await sleep(500);
    }
  }
}

interface Followed {
  readonly context: CommandContext;
  readonly session: GatewaySession;
  readonly run: Run;
  /** Of the automation. */
  readonly name: string;
}

async function follow({
  context,
  session: { gateway, wordsFor, consoleLink },
  run: { id, workflow, version },
  name,
}: Followed): Promise<number> {
  const { stdout, stderr, outputColumns } = context;
  const timeline = createRunTimeline();
  const progress = createProgressLine({ stderr, columns: context.progressColumns });
  const say = async (text: string): Promise<void> => {
    progress.clear();
    const line = visible(text);
    await print(stdout, `${outputColumns === undefined ? line : fitted(line, outputColumns)}\n`);
  };
  await say(`run ${id} of ${JSON.stringify(name)}: ${workflow} ${version}`);
  const show = async (event: LifecycleEvent): Promise<void> => {
    const line = timeline.line(event);
    if (line !== undefined) await say(line);
    const underWay = timeline.underWay();
    // Cleared, because a line that was shown a moment ago would otherwise stay for as long as the next task takes.
    progress.clear();
    if (underWay !== '') progress.show(() => visible(`under way: ${underWay}`));
  };
  const complain = (error: GatewayError): void => {
    progress.clear();
    stderr.write(`${program} run: ${wordsFor(error)}. The run goes on, and the command waits for the gateway.\n`);
  };
  // The link has to be whole, however narrow the terminal is.
  const tell = async (approval: string): Promise<void> => {
    progress.clear();
    await print(
      stdout,
      `waiting for approval ${visible(approval)}: ${consoleLink(`approvals/${encodeURIComponent(approval)}`)}\n`,
    );
  };
  const ended = await context.untilInterrupted(async (interruption) => {
    const over = new AbortController();
    const signal = AbortSignal.any([interruption, over.signal]);
    const telling = tellApprovals({ gateway, run: id, signal, tell });
    try {
      return await followRun({ gateway, id, interruption, show, complain });
    } finally {
      over.abort();
      await telling;
    }
  });
  progress.clear();
  if (ended === undefined) {
    stderr.write(`${program} run: interrupted. The run goes on; see it: ${context.invocation} runs show ${shellWord(id)}\n`);
    return 1;
  }
  await printEnd(context, ended);
  return codeOf[ended.status] ?? 1;
}

async function printEnd({ stdout, stderr, invocation }: CommandContext, run: Run): Promise<void> {
  const took = between(run.startedAt, run.endedAt);
  await print(stdout, `${run.status}${took === undefined ? '' : ` after ${durationText(took)}`}\n`);
  // The whole error, however narrow the terminal is.
  if (run.error !== undefined) await print(stdout, `${visible(errorText(run.error))}\n`);
  if (run.output !== undefined) await print(stdout, `${jsonLines(run.output)}\n`);
  if (run.status === 'suspended') {
    stderr.write(`The run waits for people. See what for: ${invocation} runs show ${shellWord(run.id)}\n`);
  }
}

/** JSON in lines. Line breaks are its own: those inside strings are escaped. */
function jsonLines(value: unknown): string {
  return JSON.stringify(value, undefined, 2).split('\n').map(visible).join('\n');
}
