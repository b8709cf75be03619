import type { NamedPrincipal } from '#access/people.ts';
import type { Clock } from '#base/clock.ts';
import type { LimitReached } from '#base/limits.ts';
import type { Database } from '#database/database.ts';
import {
  appendEvents,
  type EventsOptions,
  lastEventNumber,
  type MessageStart,
  publishEvents,
  readEvents,
  readMessages,
} from './event-store.ts';
import { Gathering } from './gathering.ts';
import { type ChangeRuns, type ChangingWork, createRunChanges, type RunChange } from './run-changes.ts';
import { type ClaimOptions, claimRuns, nextWake, type Renewed, type RenewOptions, renewLeases } from './run-claim-store.ts';
import { commandRuns, queueCommand, queuedCommands } from './run-command-store.ts';
import { createRunsIn } from './run-creation-store.ts';
import { callingPrincipals, callingRuns, isPinned, joinedPeople } from './run-people-store.ts';
import type { RunCounts, RunFilter, RunPlace, StoredRunSummary } from './run-queries.ts';
import { countRuns, listRuns, listTasks, openChildren, readRun, readRunState, readSummary } from './run-read-store.ts';
import type {
  ClaimedRun,
  EventRecord,
  NewEvent,
  NewRun,
  QueuedCommand,
  RunCommand,
  RunPerson,
  RunWrite,
  StoredRun,
  TaskRecord,
} from './run-records.ts';
import { type ForgetOptions, forgetRuns } from './run-retention-store.ts';
import { type RunStoreContext, storeTime, type VisibleAutomations } from './run-store-context.ts';
import { type WriteOutcome, writeSteps } from './run-write-store.ts';

/**
 * The runs, and the log of their events. Any number of gateways work on one store. A gateway claims a run for the time of a lease, which it
 * renews; each claim has a higher fence. A write counts only with the fence of the current claim, so that a gateway which stood still
 * and comes back changes nothing. Every method rejects with `store-unavailable`; the caller tries again.
 */
export interface RunStore {
  /** Creates the runs that do not exist yet (by id), and answers these as they are created. They can be claimed at once. */
  create(runs: readonly NewRun[]): Promise<readonly StoredRun[]>;
  /** Runs `work` in a transaction of the part `records`, and does in it what `work` answers. */
  readonly changeWith: ChangeRuns;
  /** Runs that are due, each with its next fence. After a rejection the owner may hold runs that it does not know: see `renew`. */
  claim(options: ClaimOptions): Promise<readonly ClaimedRun[]>;
  renew(options: RenewOptions): Promise<Renewed>;
  /**
   * Resolves once the write is durable. `lost`: another holder has the run, or no one; nothing of the write is in the store. After a
   * rejection the write may be in the store: the same write again changes nothing more, but is `lost` where it released the run.
   */
  save(write: RunWrite): Promise<WriteOutcome>;
  /** When the earliest run can be claimed, apart from those in `except`, in milliseconds since the epoch. A lease that ends counts. */
  nextWake(options?: Pick<ClaimOptions, 'except' | 'places'>): Promise<number | undefined>;
  /** False where the run does not exist or has ended. With a key, also where it has had a command with the key. */
  command(run: string, command: RunCommand, key?: string): Promise<boolean>;
  /** Commands that are not consumed, in order. */
  commandsOf(runs: readonly string[]): Promise<readonly QueuedCommand[]>;
  read(id: string): Promise<StoredRun | undefined>;
  /** The run without its input and output, which may be long. */
  summary(id: string): Promise<StoredRunSummary | undefined>;
  /** Undefined where the run has not started, or has ended. */
  readState(id: string): Promise<ClaimedRun['state']>;
  /** The newest first. */
  list(
    filter: RunFilter,
    page: { readonly limit: number; readonly after?: RunPlace | undefined },
  ): Promise<readonly StoredRunSummary[]>;
  /** By `activity`; `after` is the last one of the page before. */
  tasks(run: string, page: { readonly limit: number; readonly after?: number | undefined }): Promise<readonly TaskRecord[]>;
  /** Who joined these runs after their creation. */
  people(runs: readonly string[]): Promise<ReadonlyMap<string, readonly RunPerson[]>>;
  /** Whether a run that has not ended has pinned a document with one of the digests. */
  isPinned(digests: readonly string[]): Promise<boolean>;
  /** In whose names the runs call that have not ended and are not suspended. */
  callingPrincipals(): Promise<readonly NamedPrincipal[]>;
  /** The ids of these runs of the principal with this id. */
  callingRuns(principal: string): Promise<readonly string[]>;
  /** Ids of the runs that the run began and that have not ended. */
  children(run: string): Promise<readonly string[]>;
  /** Events that are not of a run. A second one with the same kind, `sender`, `source` and `id` is not stored again. */
  publish(events: readonly NewEvent[]): Promise<void>;
  /** Message events in the order of their numbers. */
  messages(start: MessageStart & { readonly limit: number }): Promise<readonly EventRecord[]>;
  /** Events of any kind in the order of their numbers. Where one is visible, all with lower numbers are. */
  events(options: EventsOptions): Promise<readonly EventRecord[]>;
  /** The highest number of an event; 0 where there is none. */
  lastEvent(): Promise<number>;
  counts(): Promise<RunCounts>;
  /** Deletes in a batch what is old. Answers how much; 0 where none is left. */
  forget(options: ForgetOptions): Promise<number>;
  /** Calls the listener after each commit, of any gateway, that may concern it, until the function that it answers is called. */
  onChange(listener: (change: RunChange) => void): () => void;
  /** Waits for writes. The database stays open. */
  close(): Promise<void>;
}

interface RunStoreOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly visible: VisibleAutomations;
  /** Whose time decides on PostgreSQL. Only tests with a clock of their own pass `process`. */
  readonly time?: 'server' | 'process';
  readonly limitReached?: LimitReached | undefined;
  /** Throws where the store has no room for runs and events. */
  readonly requireRoom?: () => void;
  /** See `RunStoreContext`. Default: each principal is a person. */
  readonly personOf?: (principal: string) => string;
}

export function createRunStore({
  database,
  clock,
  visible,
  time = 'server',
  limitReached,
  requireRoom = () => {},
  personOf = (principal) => principal,
}: RunStoreOptions): RunStore {
  const changes = createRunChanges(database);
  const now = storeTime(database, clock, time);
  const context: RunStoreContext = { database, clock, visible, changes, limitReached, personOf, now };
  const writes = gatheredWrites(context);
  const roomFor =
    <A, R>(work: (argument: A) => Promise<R>) =>
    async (argument: A): Promise<R> => {
      requireRoom();
      return await work(argument);
    };
  const creations = gatheredCreations(context);
  return {
    create: roomFor((runs) => creations.add(runs)),
    changeWith: (work) => changeRunsWith(context, work),
    claim: roomFor((options) => claimRuns(context, options)),
    renew: (options) => renewLeases(context, options),
    save: roomFor((write) => writes.add(write)),
    nextWake: (options = {}) => nextWake(context, options),
    command: (run, command, key) => queueCommand(context, { run, command, key }),
    commandsOf: (runs) => queuedCommands(context, runs),
    read: (id) => readRun(context, id),
    summary: (id) => readSummary(context, id),
    readState: (id) => readRunState(context, id),
    list: (filter, page) => listRuns(context, filter, page),
    tasks: (run, page) => listTasks(context, run, page),
    people: (runs) => joinedPeople(context, runs),
    isPinned: (digests) => isPinned(context, digests),
    callingPrincipals: () => callingPrincipals(context),
    callingRuns: (principal) => callingRuns(context, principal),
    children: (run) => openChildren(context, run),
    publish: roomFor((events) => publishEvents(context, events)),
    messages: (start) => readMessages(context, start),
    events: (options) => readEvents(context, options),
    lastEvent: () => lastEventNumber(context),
    counts: () => countRuns(context),
    forget: (options) => forgetRuns(context, options),
    onChange: (listener) => changes.onChange(listener),
    async close() {
      await Promise.all([creations.settled(), writes.settled()]);
      changes.close();
    },
  };
}

function gatheredWrites(context: RunStoreContext): Gathering<RunWrite, WriteOutcome> {
  return new Gathering({
    write: (items) => writeSteps(context, items),
    keyOf: ({ run }) => run,
    sizeOf: ({ state, output }) => (state?.text.length ?? 0) + (output?.length ?? 0) + sizeOfValues(state?.values),
  });
}

function gatheredCreations(context: RunStoreContext): Gathering<readonly NewRun[], readonly StoredRun[]> {
  return new Gathering<readonly NewRun[], readonly StoredRun[]>({
    async write(items) {
      const created = await context.changes.commit(async (transaction) => {
        const result = await createRunsIn(transaction, items.flat(), context);
        return { result, runs: result.map(({ id }) => id), events: false };
      });
      const byId = new Map(created.map((run) => [run.id, run]));
      return items.map((runs) => runs.flatMap(({ id }) => byId.get(id) ?? []));
    },
    // Two requests with one Idempotency-Key create the same run, and the first of them counts.
    keyOf: ([first]) => first?.id ?? '',
    sizeOf: (runs) => runs.reduce((size, { input }) => size + input.length, 0),
  });
}

function changeRunsWith<T>(context: RunStoreContext, work: ChangingWork<T>): Promise<T> {
  return context.changes.commit(async (transaction) => {
    const { result, runs = [], commands = [], events = [] } = await work(transaction);
    const created = await createRunsIn(transaction, runs, context);
    const commanded = await commandRuns(context, transaction, commands);
    await appendEvents(
      context,
      transaction,
      events.map((event) => ({ run: null, automation: null, event })),
    );
    return { result, runs: [...created.map(({ id }) => id), ...commanded], events: events.length > 0 };
  });
}

function sizeOfValues(values: ReadonlyMap<string, string> = new Map()): number {
  return [...values.values()].reduce((size, { length }) => size + length, 0);
}
