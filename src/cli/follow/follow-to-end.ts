import { setTimeout as sleep } from 'node:timers/promises';
import { visible } from '#base/text/visible.ts';
import { durationText, type Gateway, GatewayError, type Run } from '#client/gateway.ts';
import type { CommandContext } from '../command.ts';
import { exact, type GatewaySession } from '../gateway-session.ts';
import { shellWord } from '../invocation.ts';
import { print } from '../output.ts';
import { createRunTimeline, type LifecycleEvent, readLifecycleEvent } from '../texts/lifecycle-event.ts';
import { createProgressLine } from '../texts/progress-line.ts';
import { between, errorText } from '../texts/run-words.ts';
import { fitted } from '../texts/text-table.ts';

const exitCodes: Readonly<Partial<Record<Run['status'], number>>> = { completed: 0, faulted: 1, cancelled: 1, suspended: 3 };

interface Followed {
  readonly session: GatewaySession;
  readonly run: Run;
  /** Of its automation. */
  readonly name: string | undefined;
}

/** Prints what happens in a run until it has ended or is suspended. Resolves with the exit code. */
export async function followToEnd({ session, run: { id, workflow, version }, name }: Followed): Promise<number> {
  const { context, given, gateway, wordsFor, consoleLink, complain } = session;
  const { stdout, stderr, outputColumns } = context;
  const isJson = given.flag('json');
  const timeline = createRunTimeline();
  const progress = createProgressLine({ stderr, columns: context.progressColumns });
  const say = async (text: string): Promise<void> => {
    progress.clear();
    const line = visible(text);
    if (!isJson) await print(stdout, `${outputColumns === undefined ? line : fitted(line, outputColumns)}\n`);
  };
  await say(`run ${id}${name === undefined ? '' : ` of ${JSON.stringify(name)}`}: ${workflow} ${version}`);
  const show = async (event: LifecycleEvent): Promise<void> => {
    const line = timeline.line(event);
    if (line !== undefined) await say(line);
    const underWay = timeline.underWay();
    // Cleared, because a line that was shown a moment ago would otherwise stay for as long as the next task takes.
    progress.clear();
    if (underWay !== '') progress.show(() => visible(`under way: ${underWay}`));
  };
  const away = (error: GatewayError): void => {
    progress.clear();
    complain(`${wordsFor(error)}. The run goes on, and the command waits for the gateway.`);
  };
  // The link has to be whole, however narrow the terminal is.
  const tell = async (approval: string): Promise<void> => {
    progress.clear();
    const link = consoleLink(`approvals/${encodeURIComponent(approval)}`);
    const line = `waiting for approval ${visible(approval)}: ${link}\n`;
    if (isJson) stderr.write(line);
    else await print(stdout, line);
  };
  const ended = await context.untilInterrupted(async (interruption) => {
    const over = new AbortController();
    const signal = AbortSignal.any([interruption, over.signal]);
    const telling = tellApprovals({ gateway, run: id, signal, tell });
    try {
      return await followRun({ gateway, id, interruption, show, complain: away });
    } finally {
      over.abort();
      await telling;
    }
  });
  progress.clear();
  if (ended === undefined) {
    complain(`interrupted. The run goes on; see it: ${context.invocation} runs show ${shellWord(id)}`);
    return 1;
  }
  if (isJson) await print(stdout, `${JSON.stringify(ended, undefined, 2)}\n`);
  else await printEnd(context, ended);
  return exitCodes[ended.status] ?? 1;
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

interface Following {
  readonly gateway: Gateway;
  /** Id of the run. */
  readonly id: string;
  readonly interruption: AbortSignal;
  readonly show: (event: LifecycleEvent) => Promise<void>;
  /** Called once for each time that the gateway goes away. */
  readonly complain: (error: GatewayError) => void;
}

/** Milliseconds until the gateway is asked again. */
const retryAfter = 1_000;

const pauses: ReadonlySet<string> = new Set(['completed', 'faulted', 'cancelled', 'suspended']);

/**
 * Shows the events of a run from its beginning, each once. Resolves with the run when it has ended or is suspended, and with undefined after
 * an interruption. While the gateway is away it asks again: the events go on after the last one.
 */
async function followRun(following: Following): Promise<Run | undefined> {
  const { interruption } = following;
  try {
    return await untilPause(following);
  } catch (error) {
    if (interruption.aborted) return undefined;
    throw error;
  }
}

async function untilPause({ gateway, id, interruption, show, complain }: Following): Promise<Run> {
  let isAway = false;
  const away = (error: GatewayError): void => {
    if (!isAway) complain(error);
    isAway = true;
  };
  const back = (): void => {
    isAway = false;
  };
  const events = gateway.followRun({ path: { id }, signal: interruption, onInterruption: away, onOpen: back });
  for await (const { text } of events) {
    const event = readLifecycleEvent(text);
    if (event === undefined) continue;
    await show(event);
    if (event.of !== 'workflow' || !pauses.has(event.kind)) continue;
    const run = await patiently(() => readRun(gateway, id, interruption), away);
    // The events of a run that was resumed tell of its earlier suspension.
    if (pauses.has(run.status)) return run;
  }
  return await patiently(() => readRun(gateway, id, interruption), away);
}

async function readRun(gateway: Gateway, id: string, signal: AbortSignal): Promise<Run> {
  return exact(await gateway.readRun({ path: { id }, signal }));
}

async function patiently<T>(ask: () => Promise<T>, away: (error: GatewayError) => void): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof GatewayError && error.isTemporary)) throw error;
      away(error);
      await sleep(Math.max(retryAfter, (error.retryAfter ?? 0) * 1_000));
    }
  }
}

interface Telling {
  readonly gateway: Gateway;
  /** Id of the run. */
  readonly run: string;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Called once for each approval that the run waits for. */
  readonly tell: (approval: string) => Promise<void>;
}

/** Milliseconds between two looks: the events of a run do not tell of its approvals. */
const interval = 1_000;

/** Tells of the approvals that a run waits for, until the signal. What keeps the gateway from an answer, the events of the run tell. */
async function tellApprovals({ gateway, run, signal, tell }: Telling): Promise<void> {
  const told = new Set<string>();
  while (!signal.aborted) {
    const query = { run, status: 'waiting', limit: 100 } as const;
    const waiting = await gateway.listApprovals({ query, signal }).catch((error: unknown) => {
      if (signal.aborted || error instanceof GatewayError) return undefined;
      throw error;
    });
    for (const { id } of waiting?.value.list ?? []) {
      if (!told.has(id)) await tell(id);
      told.add(id);
    }
    await sleep(interval, undefined, { signal }).catch(() => undefined);
  }
}
