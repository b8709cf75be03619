import { setTimeout as sleep } from 'node:timers/promises';
import { visible } from '#base/text/visible.ts';
import { durationText, type Gateway, GatewayError, type Run, type RunError } from '#client/gateway.ts';
import type { CommandContext } from './command.ts';
import { exact, type GatewaySession } from './gateway-session.ts';
import { shellWord } from './invocation.ts';
import { print } from './output.ts';
import { createProgressLine } from './texts/progress-line.ts';
import { between, errorText, taskPath, turnText } from './texts/run-words.ts';
import { fitted } from './texts/text-table.ts';

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

/** A lifecycle event of a run or of one of its tasks. */
interface LifecycleEvent {
  readonly of: 'workflow' | 'task';
  /** Such as `started`, `completed`, `correlation-started`. */
  readonly kind: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** JSON pointer of the task; empty for the run. */
  readonly reference: string;
  /** Of the task; empty for the run. */
  readonly id: string;
  readonly iteration: number | undefined;
  readonly attempt: number | undefined;
  readonly error: RunError | undefined;
}

/** A lifecycle event from the text of a CloudEvent. Undefined for other events, such as one that the workflow emits. */
function readLifecycleEvent(text: string): LifecycleEvent | undefined {
  const { type, time, data } = JSON.parse(text) as {
    readonly type?: unknown;
    readonly time?: unknown;
    readonly data?: Partial<Record<'task' | 'id' | 'iteration' | 'attempt' | 'error', unknown>>;
  };
  const [, of, kind] = /^io\.serverlessworkflow\.(workflow|task)\.([a-z-]+)\.v1$/u.exec(String(type)) ?? [];
  if (kind === undefined || typeof data !== 'object') return undefined;
  return {
    of: of === 'task' ? 'task' : 'workflow',
    kind,
    at: Date.parse(String(time)),
    reference: textOr(data.task),
    id: textOr(data.id),
    iteration: typeof data.iteration === 'number' ? data.iteration : undefined,
    attempt: typeof data.attempt === 'number' ? data.attempt : undefined,
    error: data.error as RunError | undefined,
  };
}

function textOr(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The timeline of a run, event by event. Texts are not yet without control characters. */
interface RunTimeline {
  /** The line that an event adds; undefined for none. */
  line(event: LifecycleEvent): string | undefined;
  /** The tasks under way, without those that only contain others; empty where there are none. */
  underWay(): string;
}

const shownKinds: ReadonlySet<string> = new Set(['completed', 'faulted', 'cancelled', 'suspended', 'resumed', 'retried']);
const ends: ReadonlySet<string> = new Set(['completed', 'faulted', 'cancelled']);

/** A line for each task that ended: when, how, which, and how long it took. */
function createRunTimeline(): RunTimeline {
  const open = new Map<string, LifecycleEvent>();
  let begin: number | undefined;
  return {
    line(event) {
      const { of, kind, at, id } = event;
      begin ??= at;
      const begun = open.get(id);
      // A task that is skipped is created and never started.
      if (of === 'task' && kind === 'started') open.set(id, event);
      if (of === 'task' && ends.has(kind)) open.delete(id);
      if (!isShown(event)) return undefined;
      return lineOf(event, at - begin, begun === undefined ? undefined : at - begun.at);
    },
    underWay() {
      const references = [...open.values()].map(({ reference }) => reference);
      return [...open.values()]
        .filter(({ reference }) => !references.some((other) => other.startsWith(`${reference}/`)))
        .map((event) => `${taskPath(event.reference)}${turnText(event)}`)
        .join(', ');
    },
  };
}

/** The command prints the end of the run itself, with its output. */
function isShown({ of, kind }: LifecycleEvent): boolean {
  return shownKinds.has(kind) && (of === 'task' || !ends.has(kind));
}

/** Times are in milliseconds. */
function lineOf(event: LifecycleEvent, since: number, took: number | undefined): string {
  const { of, kind, error } = event;
  const facts = [
    took === undefined || !ends.has(kind) ? undefined : durationText(took),
    error === undefined ? undefined : errorText(error),
  ].filter((fact) => fact !== undefined);
  const what = of === 'workflow' ? 'the run' : `${taskPath(event.reference)}${turnText(event)}`;
  return [`${(since / 1_000).toFixed(3).padStart(9)} s`, kind.padEnd(9), what, ...facts].join('  ');
}
