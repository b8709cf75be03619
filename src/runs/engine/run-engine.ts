import { randomUUID } from 'node:crypto';
import type { Log } from '#base/log.ts';
import { Semaphore } from '#base/semaphore.ts';
import { beatInterval, usualLease } from '#base/store-steadiness.ts';
import { every } from '#base/timing/every.ts';
import { type EffectError, standardError } from '../interpreter/task-error.ts';
import type { RunChange } from '../journal/run-changes.ts';
import type { ClaimOptions } from '../journal/run-claim-store.ts';
import type { ClaimedRun } from '../journal/run-records.ts';
import { endedEarly, gatewaysEnded, maxAbandonedClaims, settleLostRun } from './lost-run.ts';
import { RunExecutor } from './run-executor.ts';
import { failedInside, maxFaults } from './run-faults.ts';
import type { RunJournal, RunTools } from './run-tools.ts';
import { type RunWatchers, watchedSave } from './run-watcher.ts';
import { isPassingRefusal } from './until-stored.ts';
import { Wakeup } from './wakeup.ts';

type Places = NonNullable<ClaimOptions['places']>;

/** The part of the store by which gateways share the runs. */
interface RunClaims extends RunJournal {
  /** Takes up to `limit` runs that no gateway holds, for `lease` milliseconds. `except`: those that this one works on. */
  claim(options: {
    readonly owner: string;
    readonly limit: number;
    readonly lease: number;
    readonly except: readonly string[];
    readonly places: Places;
    readonly takesOver: () => boolean;
  }): Promise<readonly ClaimedRun[]>;
  /** Renews each lease of the owner. `held`: the fences of the runs that it still holds. `waiting`: runs with commands. */
  renew(options: { readonly owner: string; readonly lease: number; readonly runs: readonly string[] }): Promise<{
    readonly held: ReadonlyMap<string, number>;
    readonly waiting: ReadonlySet<string>;
  }>;
  /** When the next run can be claimed, in milliseconds since the epoch. `owner`: the leases of others do not count. */
  nextWake(options: {
    readonly owner: string | undefined;
    readonly except: readonly string[];
    readonly places: Places;
  }): Promise<number | undefined>;
  onChange(listener: (change: RunChange) => void): () => void;
}

export interface RunEngine {
  held(): number;
  /** Begins nothing more. Resolves once this gateway holds no run: each call in flight has ended, or was aborted. */
  stop(): Promise<void>;
  /** Aborts the calls in flight, so that a pending `stop` resolves. */
  abort(): void;
}

interface RunEngineOptions {
  readonly store: RunClaims;
  readonly tools: Omit<RunTools, 'placesOfPerson'>;
  /** Tasks that this gateway does at once. 0: none. */
  readonly tasks: number;
  readonly log: Log;
  readonly watchers?: RunWatchers;
  /** False: the holder of a run whose lease has ended may be alive, and renew it. Absent: always true. */
  readonly isSteady?: () => boolean;
  /** Milliseconds that a run belongs to this gateway without a renewal. */
  readonly lease?: number;
}

interface Held {
  readonly fence: number;
  /** As in `Places`. */
  readonly person: string;
  /** By the monotonic clock, with a margin: the store may give the run to another gateway later. */
  until: number;
  /** Undefined while its workflow is read. */
  executor: RunExecutor | undefined;
}

/** A lease counts as ended this share of it earlier here than in the store. */
const margin = 5;
/** Of a lease, between two renewals. */
const renewalShare = beatInterval / usualLease;
/** Milliseconds between two looks for runs, at most: a notification of the store may be lost. */
const maxWait = 1_000;
const shortestWait = 5;

/** Executes runs, together with all other gateways on the store. */
export function createRunEngine(options: RunEngineOptions): RunEngine {
  return new Engine(options);
}

class Engine implements RunEngine {
  readonly #options: RunEngineOptions;
  readonly #lease: number;
  readonly #isSteady: () => boolean;
  readonly #owner = randomUUID();
  readonly #held = new Map<string, Held>();
  /** How often this gateway failed on runs as a whole, which no task of theirs explains. */
  readonly #faults = new Map<string, number>();
  #claimFails = false;
  /** With the limit of tasks at once. */
  readonly #tools: RunTools;
  readonly #claiming: Promise<void>;
  readonly #renewal: { stop(): Promise<void> };
  readonly #forget: () => void;
  #stopped: Promise<void> | undefined;
  readonly #wakeup = new Wakeup();
  #emptied: () => void = () => {};

  constructor(options: RunEngineOptions) {
    const { tools, tasks, log, store, isSteady = () => true } = options;
    this.#options = options;
    this.#lease = options.lease ?? usualLease;
    this.#isSteady = isSteady;
    const calls = new Semaphore(tasks);
    const perform: RunTools['calls']['perform'] = (call, signal) =>
      calls.run(() => tools.calls.perform(call, signal), { group: call.run.id });
    this.#tools = { ...tools, placesOfPerson: maxPlacesOfPerson(tasks), calls: { ...tools.calls, perform } };
    this.#forget = store.onChange((change) => this.#changed(change));
    this.#renewal = every(
      this.#lease * renewalShare,
      () => this.#renew(),
      () => log.warn('the leases of runs could not be renewed; the gateway tries again'),
      { overlaps: true },
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
    this.#wakeup.rouse();
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
      this.#wakeup.begin();
      const wait = await this.#claim().catch((thrown: unknown) => this.#claimFailed(thrown));
      if (!this.#isStopping) await this.#wakeup.wait(Math.min(maxWait, Math.max(shortestWait, wait)));
    }
  }

  /** Claims as many runs as there is room for. Answers the milliseconds until another one may go on. */
  async #claim(): Promise<number> {
    const { store, tasks, tools } = this.#options;
    while (!this.#isStopping && this.#held.size < tasks) {
      const limit = tasks - this.#held.size;
      const until = this.#leaseEnd();
      const places = this.#places();
      const except = [...this.#held.keys()];
      const takesOver = this.#isSteady;
      const claimed = await store.claim({ owner: this.#owner, limit, lease: this.#lease, except, places, takesOver });
      this.#claimFails = false;
      for (const run of claimed) this.#hold(run, until);
      if (claimed.length < limit) {
        const owner = this.#isSteady() ? undefined : this.#owner;
        const next = await store.nextWake({ owner, except: [...this.#held.keys()], places: this.#places() });
        return (next ?? Infinity) - tools.clock.now();
      }
    }
    return maxWait;
  }

  /** The store is away, as its own log says, or it has something that this gateway cannot read, which is said once. */
  #claimFailed(thrown: unknown): number {
    if (!isPassingRefusal(thrown) && !this.#claimFails) {
      this.#claimFails = true;
      this.#failedInside(thrown);
    }
    return maxWait;
  }

  #failedInside(thrown: unknown, run?: ClaimedRun): void {
    for (const watcher of this.#options.watchers ?? []) watcher.failedInside?.(thrown, run);
  }

  /** What each person holds of the places here. One person never has all of them, where there is more than one. */
  #places(): Places {
    const held = new Map<string, number>();
    for (const { person } of this.#held.values()) held.set(person, (held.get(person) ?? 0) + 1);
    return { most: maxPlacesOfPerson(this.#options.tasks), held };
  }

  /** Others may be due, and have no place here. */
  #isCrowded(person: string): boolean {
    const { tasks } = this.#options;
    if (this.#held.size >= tasks) return true;
    return (this.#places().held.get(person) ?? 0) >= maxPlacesOfPerson(tasks);
  }

  /** Of a lease that is asked for now. */
  #leaseEnd(): number {
    return this.#options.tools.clock.monotonic() + this.#lease - this.#lease / margin;
  }

  #hold(run: ClaimedRun, until: number): void {
    const { store, tools, watchers = [] } = this.#options;
    const journal: RunJournal = {
      save: watchedSave(run, (write) => store.save(write), watchers),
      commandsOf: (runs) => store.commandsOf(runs),
      command: (id, command, key) => store.command(id, command, key),
    };
    const { person } = run;
    const entry: Held = { fence: run.fence, person, until, executor: undefined };
    this.#held.set(run.id, entry);
    const holds = (): boolean => tools.clock.monotonic() < entry.until;
    const ready = (executor: RunExecutor): void => {
      entry.executor = executor;
      if (this.#isStopping) executor.drain();
    };
    const faulted = (thrown: unknown): void => this.#failedInside(thrown, run);
    const isCrowded = (): boolean => this.#isCrowded(person);
    const isGivenUp = (this.#faults.get(run.id) ?? 0) >= maxFaults;
    execute(run, { tools: toolsOf(this.#tools, person), journal, holds, faulted, isGivenUp, isCrowded }, ready)
      .then(() => void this.#faults.delete(run.id))
      .catch((error: unknown) => this.#executionFailed(error, run))
      .finally(() => {
        if (this.#held.get(run.id) === entry) this.#held.delete(run.id);
        if (this.#held.size === 0) this.#emptied();
        this.#wakeup.rouse();
      });
  }

  /** The run is taken up again when its lease ends. */
  #executionFailed(thrown: unknown, run: ClaimedRun): void {
    if (isPassingRefusal(thrown)) return;
    this.#failedInside(thrown, run);
    this.#faults.set(run.id, (this.#faults.get(run.id) ?? 0) + 1);
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
      if (held.get(id) === run.fence) run.until = Math.max(run.until, until);
      else run.executor?.lose();
      if (waiting.has(id)) run.executor?.wake();
    }
  }

  #changed(change: RunChange): void {
    if (change.kind === 'events' || change.kind === 'rewound') return;
    const own = change.kind === 'run' ? this.#held.get(change.id) : undefined;
    if (own !== undefined) own.executor?.wake();
    else {
      if (change.kind !== 'run') for (const { executor } of this.#held.values()) executor?.wake();
      this.#wakeup.rouse();
    }
  }
}

interface Executing {
  readonly tools: RunTools;
  readonly journal: RunJournal;
  readonly holds: () => boolean;
  /** Told of each exception of the gateway itself. */
  readonly faulted: (thrown: unknown) => void;
  /** This gateway failed too often on the run as a whole. */
  readonly isGivenUp: boolean;
  /** The run should give its place back where it can. */
  readonly isCrowded: () => boolean;
}

/** Resolves once the gateway has let go of the run. `ready` gets its executor. */
async function execute(
  run: ClaimedRun,
  { tools, journal, holds, faulted, isGivenUp, isCrowded }: Executing,
  ready: (executor: RunExecutor) => void,
): Promise<void> {
  const lost = (error: EffectError): Promise<void> => settleLostRun(run, error, { tools, journal });
  if (isGivenUp) return await lost(failedInside);
  if (run.state === undefined && run.abandonedClaims >= maxAbandonedClaims) {
    await journal.save(endedEarly(run, gatewaysEnded(run.abandonedClaims), tools.clock.now()));
    return;
  }
  const { workflow: id, version, workflowDigest: digest } = run;
  const loaded = await tools.loadWorkflow({ id, version, digest });
  if (loaded === undefined) {
    const detail = `The version ${version} of ${id} was deleted, or has other bytes now.`;
    return await lost(standardError('configuration', 'The workflow does not exist', detail));
  }
  const passwords = { fields: run.passwordFields ?? [], values: await tools.taskData.passwordsOf(run) };
  const made = executorOf({ run, passwords, workflow: loaded.workflow, tools, journal, holds, faulted, isCrowded });
  if (made === undefined) return await lost(standardError('runtime', 'The state of the run cannot be read', unreadable));
  ready(made);
  await made.execute();
}

const unreadable = 'This version of the gateway cannot read the state that the store has of this run.';

/** Places of one person, at one gateway. */
function maxPlacesOfPerson(tasks: number): number {
  return Math.max(1, Math.floor(tasks - Math.max(1, tasks / 4)));
}

/** Threads take turns by person. */
function toolsOf(tools: RunTools, person: string): RunTools {
  return {
    ...tools,
    expressions: { evaluate: (evaluation) => tools.expressions.evaluate({ ...evaluation, person }) },
    checkSchema: (check) => tools.checkSchema({ ...check, person }),
  };
}

/** Undefined where the state of the run cannot be read. */
function executorOf(options: ConstructorParameters<typeof RunExecutor>[0]): RunExecutor | undefined {
  try {
    return new RunExecutor(options);
  } catch {
    return undefined;
  }
}
