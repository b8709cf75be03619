import { randomUUID } from 'node:crypto';
import { every } from '#base/every.ts';
import type { Log } from '#base/log.ts';
import { Semaphore } from '#base/semaphore.ts';
import { type EffectError, standardError } from './interpreter/task-error.ts';
import { endedEarly, gatewaysEnded, mostDeaths, settleLostRun } from './lost-run.ts';
import type { RunChange } from './run-changes.ts';
import { RunExecutor } from './run-executor.ts';
import type { RunJournal } from './run-journal.ts';
import type { ClaimedRun } from './run-records.ts';
import type { RunTools } from './run-tools.ts';
import { type RunWatchers, watchedSave } from './run-watcher.ts';

/** The part of the store by which gateways share the runs. */
interface RunClaims extends RunJournal {
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
  readonly watchers?: RunWatchers;
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

/** A lease counts as ended this share of it earlier here than in the store. */
const margin = 5;
/** Of a lease, between two renewals. */
const renewalShare = 0.3;
/** Milliseconds between two looks for runs, at most: a notification of the store may be lost. */
const longestWait = 1_000;
const shortestWait = 5;

/** Executes runs, together with all other gateways on the store. */
export function createRunEngine(options: RunEngineOptions): RunEngine {
  return new Engine(options);
}

class Engine implements RunEngine {
  readonly #options: RunEngineOptions;
  readonly #lease: number;
  readonly #owner = randomUUID();
  readonly #held = new Map<string, Held>();
  /** With the limit of tasks at once. */
  readonly #tools: RunTools;
  readonly #claiming: Promise<void>;
  readonly #renewal: { stop(): Promise<void> };
  readonly #forget: () => void;
  #stopped: Promise<void> | undefined;
  #hasNews = false;
  #look: () => void = () => {};
  #emptied: () => void = () => {};

  constructor(options: RunEngineOptions) {
    const { tools, tasks, log, store, lease = 10_000 } = options;
    this.#options = options;
    this.#lease = lease;
    const calls = new Semaphore(tasks);
    const perform: RunTools['calls']['perform'] = (call, signal) =>
      calls.run(() => tools.calls.perform(call, signal), { group: call.run.id });
    this.#tools = { ...tools, calls: { ...tools.calls, perform } };
    this.#forget = store.onChange((change) => this.#changed(change));
    this.#renewal = every(
      lease * renewalShare,
      () => this.#renew(),
      () => log.warn('the leases of runs could not be renewed; the gateway tries again'),
    );
    this.#claiming = this.#claimAlways();
  }

  held(): number {
    return this.#held.size;
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  abort(): void {
    for (const { executor } of this.#held.values()) executor?.abort();
  }

  async #stop(): Promise<void> {
    for (const { executor } of this.#held.values()) executor?.drain();
    this.#lookAgain();
    // A claim under way may still bring runs.
    await this.#claiming;
    const { promise: empty, resolve } = Promise.withResolvers<void>();
    this.#emptied = resolve;
    if (this.#held.size > 0) await empty;
    this.#forget();
    await this.#renewal.stop();
  }

  get #isStopping(): boolean {
    return this.#stopped !== undefined;
  }

  async #claimAlways(): Promise<void> {
    while (!this.#isStopping) {
      this.#hasNews = false;
      const wait = await this.#claim().catch(() => longestWait);
      // The store is away where that failed, as its own log says.
      if (!this.#isStopping && !this.#hasNews) await this.#untilNews(Math.min(longestWait, Math.max(shortestWait, wait)));
    }
  }

  /** Claims as many runs as there is room for. Answers the milliseconds until another one may go on. */
  async #claim(): Promise<number> {
    const { store, tasks, tools } = this.#options;
    while (!this.#isStopping && this.#held.size < tasks) {
      const limit = tasks - this.#held.size;
      const until = this.#leaseEnd();
      const claimed = await store.claim({ owner: this.#owner, limit, lease: this.#lease, except: [...this.#held.keys()] });
      for (const run of claimed) this.#hold(run, until);
      if (claimed.length < limit)
        return ((await store.nextWake({ except: [...this.#held.keys()] })) ?? Infinity) - tools.clock.now();
    }
    return longestWait;
  }

  async #untilNews(milliseconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, milliseconds);
    this.#look = resolve;
    await promise;
    clearTimeout(timer);
    this.#look = () => {};
  }

  #lookAgain(): void {
    this.#hasNews = true;
    this.#look();
  }

  /** Of a lease that is asked for now. */
  #leaseEnd(): number {
    return this.#options.tools.clock.monotonic() + this.#lease - this.#lease / margin;
  }

  #hold(run: ClaimedRun, until: number): void {
    const { store, log, tools, watchers = [] } = this.#options;
    const journal: RunJournal = {
      save: watchedSave(run, (write) => store.save(write), watchers),
      commandsOf: (runs) => store.commandsOf(runs),
    };
    const entry: Held = { fence: run.fence, until, executor: undefined };
    this.#held.set(run.id, entry);
    const holds = (): boolean => tools.clock.monotonic() < entry.until;
    const ready = (executor: RunExecutor): void => {
      entry.executor = executor;
      if (this.#isStopping) executor.drain();
    };
    execute(run, { tools: this.#tools, journal, holds }, ready)
      .catch((error: unknown) =>
        log.error('the execution of a run failed inside the gateway; the run is taken up again', { errorName: nameOf(error) }),
      )
      .finally(() => {
        if (this.#held.get(run.id) === entry) this.#held.delete(run.id);
        if (this.#held.size === 0) this.#emptied();
        this.#lookAgain();
      });
  }

  async #renew(): Promise<void> {
    if (this.#held.size === 0) return;
    const until = this.#leaseEnd();
    // A run that is claimed meanwhile is not in the answer.
    const asked = [...this.#held];
    const { held, waiting } = await this.#options.store.renew({
      owner: this.#owner,
      lease: this.#lease,
      runs: asked.map(([id]) => id),
    });
    for (const [id, run] of asked) {
      if (held.get(id) === run.fence) run.until = until;
      else run.executor?.lose();
      if (waiting.has(id)) run.executor?.wake();
    }
  }

  #changed(change: RunChange): void {
    if (change.kind === 'events') return;
    const own = change.kind === 'run' ? this.#held.get(change.id) : undefined;
    if (own !== undefined) own.executor?.wake();
    else {
      if (change.kind !== 'run') for (const { executor } of this.#held.values()) executor?.wake();
      this.#lookAgain();
    }
  }
}

/** Resolves once the gateway has let go of the run. `ready` gets its executor. */
async function execute(
  run: ClaimedRun,
  { tools, journal, holds }: { readonly tools: RunTools; readonly journal: RunJournal; readonly holds: () => boolean },
  ready: (executor: RunExecutor) => void,
): Promise<void> {
  const lost = (error: EffectError): Promise<void> => settleLostRun(run, error, { tools, journal });
  if (run.state === undefined && run.deaths >= mostDeaths) {
    await journal.save(endedEarly(run, gatewaysEnded(run.deaths), tools.clock.now()));
    return;
  }
  const { workflow: id, version, workflowDigest: digest } = run;
  const loaded = await tools.loadWorkflow({ id, version, digest });
  if (loaded === undefined) {
    const detail = `The version ${version} of ${id} was deleted, or has other bytes now.`;
    return await lost(standardError('configuration', 'The workflow does not exist', detail));
  }
  const made = executorOf({ run, workflow: loaded.workflow, tools, journal, holds });
  if (made === undefined) return await lost(standardError('runtime', 'The state of the run cannot be read', unreadable));
  ready(made);
  await made.execute();
}

const unreadable = 'This version of the gateway cannot read the state that the store has of this run.';

/** Undefined where the state of the run cannot be read. */
function executorOf(options: ConstructorParameters<typeof RunExecutor>[0]): RunExecutor | undefined {
  try {
    return new RunExecutor(options);
  } catch {
    return undefined;
  }
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown';
}
