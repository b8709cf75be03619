import { randomUUID } from 'node:crypto';
import { every } from '#base/every.ts';
import type { Log } from '#base/log.ts';
import { Semaphore } from '#base/semaphore.ts';
import { type EffectError, standardError } from './interpreter/task-error.ts';
import type { RunChange } from './run-changes.ts';
import { endedEarly, gatewaysEnded, mostDeaths } from './run-ending.ts';
import { RunExecutor, type RunJournal } from './run-executor.ts';
import type { ClaimedRun } from './run-records.ts';
import type { RunTools } from './run-tools.ts';

/** The part of the store by which gateways share the runs. */
export interface RunClaims extends RunJournal {
  /** Takes up to `limit` runs that no gateway holds, for `lease` milliseconds. `except`: those that this one works on. */
  claim(options: {
    readonly owner: string;
    readonly limit: number;
    readonly lease: number;
    readonly except: readonly string[];
  }): Promise<readonly ClaimedRun[]>;
  /** Renews each lease of the owner. `held`: the fences of the runs that it still holds. `waiting`: runs with commands. */
  renew(options: { readonly owner: string; readonly lease: number; readonly runs: readonly string[] }): Promise<{
    readonly held: ReadonlyMap<string, number>;
    readonly waiting: ReadonlySet<string>;
  }>;
  /** When the next run wants to go on that no gateway holds, in milliseconds since the epoch. */
  nextWake(options: { readonly except: readonly string[] }): Promise<number | undefined>;
  onChange(listener: (change: RunChange) => void): () => void;
}

export interface RunEngine {
  /** Runs that this gateway holds. */
  held(): number;
  /** Begins nothing more. Resolves once this gateway holds no run: each call in flight has ended, or was aborted. */
  stop(): Promise<void>;
  /** Aborts the calls in flight, so that a pending `stop` resolves. */
  abort(): void;
}

interface RunEngineOptions {
  readonly store: RunClaims;
  readonly tools: RunTools;
  /** Tasks that this gateway does at once. 0: none. */
  readonly tasks: number;
  readonly log: Log;
  /** Milliseconds that a run belongs to this gateway without a renewal. */
  readonly lease?: number;
}

interface Held {
  readonly fence: number;
  /** By the monotonic clock, with a margin: the store may give the run to another gateway later. */
  until: number;
  /** Undefined while its workflow is read. */
  executor: RunExecutor | undefined;
}

/** Executes runs, together with all other gateways on the store. */
export function createRunEngine({ store, tools, tasks, log, lease = 10_000 }: RunEngineOptions): RunEngine {
  const owner = randomUUID();
  const { clock } = tools;
  const held = new Map<string, Held>();
  const calls = new Semaphore(tasks);
  const limited: RunTools = {
    ...tools,
    calls: {
      ...tools.calls,
      perform: (call, signal) => calls.run(() => tools.calls.perform(call, signal), { group: call.run.id }),
    },
  };
  let stopping = false;
  let look = (): void => {};
  let hasNews = false;
  let emptied = (): void => {};

  const lookAgain = (): void => {
    hasNews = true;
    look();
  };

  const hold = (run: ClaimedRun, until: number): void => {
    const entry: Held = { fence: run.fence, until, executor: undefined };
    held.set(run.id, entry);
    const holds = (): boolean => clock.monotonic() < entry.until;
    const ready = (executor: RunExecutor): void => {
      entry.executor = executor;
      if (stopping) executor.drain();
    };
    execute(run, { tools: limited, journal: store, holds }, ready)
      .catch((error: unknown) =>
        log.error('the execution of a run failed inside the gateway; the run is taken up again', { errorName: nameOf(error) }),
      )
      .finally(() => {
        if (held.get(run.id) === entry) held.delete(run.id);
        if (held.size === 0) emptied();
        lookAgain();
      });
  };

  const claim = async (): Promise<void> => {
    while (!stopping && held.size < tasks) {
      const limit = tasks - held.size;
      const until = clock.monotonic() + lease - lease / margin;
      const claimed = await store.claim({ owner, limit, lease, except: [...held.keys()] });
      for (const run of claimed) hold(run, until);
      if (claimed.length < limit) return;
    }
  };

  const claiming = (async () => {
    while (!stopping) {
      hasNews = false;
      let wait = longestWait;
      try {
        await claim();
        if (held.size < tasks) wait = ((await store.nextWake({ except: [...held.keys()] })) ?? Infinity) - clock.now();
      } catch {
        // The store is away, as its own log says.
      }
      if (stopping || hasNews) continue;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(longestWait, Math.max(shortestWait, wait)));
        look = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      look = () => {};
    }
  })();

  const renewal = every(
    lease * renewalShare,
    async () => {
      if (held.size === 0) return;
      const until = clock.monotonic() + lease - lease / margin;
      // A run that is claimed meanwhile is not in the answer.
      const asked = [...held];
      const { held: kept, waiting } = await store.renew({ owner, lease, runs: asked.map(([id]) => id) });
      for (const [id, run] of asked) {
        if (kept.get(id) !== run.fence) run.executor?.lose();
        else run.until = until;
        if (waiting.has(id)) run.executor?.wake();
      }
    },
    () => log.warn('the leases of runs could not be renewed; the gateway tries again'),
  );

  const forget = store.onChange((change) => {
    if (change.kind === 'events') return;
    const own = change.kind === 'run' ? held.get(change.id) : undefined;
    if (own !== undefined) own.executor?.wake();
    else if (change.kind === 'run') lookAgain();
    else {
      for (const { executor } of held.values()) executor?.wake();
      lookAgain();
    }
  });

  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    stopping = true;
    for (const { executor } of held.values()) executor?.drain();
    lookAgain();
    // A claim under way may still bring runs.
    await claiming;
    const { promise: empty, resolve } = Promise.withResolvers<void>();
    emptied = resolve;
    if (held.size > 0) await empty;
    forget();
    await renewal.stop();
  };

  return {
    held: () => held.size,
    stop() {
      stopped ??= stop();
      return stopped;
    },
    abort() {
      for (const { executor } of held.values()) executor?.abort();
    },
  };
}

/** A lease counts as ended this share of it earlier here than in the store. */
const margin = 5;
/** Of a lease, between two renewals. */
const renewalShare = 0.3;
/** Milliseconds between two looks for runs, at most: a notification of the store may be lost. */
const longestWait = 1_000;
const shortestWait = 5;

/** Resolves once the gateway has let go of the run. `ready` gets its executor. */
async function execute(
  run: ClaimedRun,
  { tools, journal, holds }: { readonly tools: RunTools; readonly journal: RunJournal; readonly holds: () => boolean },
  ready: (executor: RunExecutor) => void,
): Promise<void> {
  const end = async (error: EffectError): Promise<void> => {
    await journal.save(endedEarly(run, error, tools.clock.now()));
  };
  if (run.state === undefined && run.deaths >= mostDeaths) return await end(gatewaysEnded(run.deaths));
  const workflow = await tools.loadWorkflow({ id: run.workflow, version: run.version });
  if (workflow === undefined) {
    const detail = `The version ${run.version} of ${run.workflow} was deleted.`;
    return await end(standardError('configuration', 'The workflow does not exist', detail));
  }
  const executor = new RunExecutor({ run, workflow, tools, journal, holds });
  ready(executor);
  await executor.execute();
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown';
}
