import type { NamedPrincipal } from '#access/people.ts';
import type { Join } from '#audit/companion.ts';
import type { Clock } from '#base/clock.ts';
import type { LimitReached } from '#base/limits.ts';
import { randomHex } from '#base/text/random-hex.ts';
import type { Database } from '#database/database.ts';
import { createRollups } from '#statistics/rollups.ts';
import type { TimeStep } from '#statistics/time-steps.ts';
import { sizeOfParts } from '../task-data/task-data.ts';
import { dropTaskData, readTaskParts } from '../task-data/task-data-store.ts';
import {
  batchesOf,
  batchOfTask,
  type ItemPage,
  openBatches,
  openItems,
  readBatch,
  readItems,
  sumsOfItems,
} from './batches/batch-read-store.ts';
import type { BatchWrite, ItemSums, StoredBatch, StoredItem } from './batches/batch-records.ts';
import { type BatchesLeft, batchesLeft, repeatedItemsOf, type TakenItems, takeItemsIn } from './batches/repetition-store.ts';
import {
  appendEvents,
  type EventsOptions,
  lastEventNumber,
  type MessageStart,
  publishEvents,
  readEvents,
  readMessages,
} from './events/event-store.ts';
import { GroupCommit, ownTransactions } from './group-commit.ts';
import { lastRuns } from './last-runs-store.ts';
import { type ChangeRuns, type ChangingWork, createRunChanges, type RunChange } from './run-changes.ts';
import {
  type ClaimOptions,
  claimRuns,
  type NextWakeOptions,
  nextWake,
  type Renewed,
  type RenewOptions,
  renewLeases,
} from './run-claim-store.ts';
import { commandRuns, type KeyedCommand, queueCommands, queuedCommands } from './run-command-store.ts';
import { createRunsIn } from './run-creation-store.ts';
import type { ParentCall } from './run-parent.ts';
import { callingPrincipals, callingRuns, isPinned, joinedPeople } from './run-people-store.ts';
import type { RunCounts, RunFilter, RunPosition, StoredRunSummary } from './run-queries.ts';
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
  StoredTask,
  TaskParts,
} from './run-records.ts';
import { type ForgetOptions, forgetRuns } from './run-retention-store.ts';
import { automationsWithEnds, runStatistics, type StatisticsScope } from './run-statistics-store.ts';
import { type RunStoreContext, storeTime, type VisibleAutomations } from './run-store-context.ts';
import { type WriteOutcome, writeSteps } from './run-write-store.ts';
import { markLost, type OpenLoss, openLoss, releaseHeld, type StoreLoss } from './store-loss-store.ts';

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
  nextWake(options?: NextWakeOptions): Promise<number | undefined>;
  /** False where the run does not exist or has ended. With a key, also where it has had a command with the key. */
  command(run: string, command: RunCommand, key?: string): Promise<boolean>;
  /** All of them or none: false where one cannot be queued. */
  commandAll(commands: readonly KeyedCommand[]): Promise<boolean>;
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
    page: { readonly limit: number; readonly after?: RunPosition | undefined },
  ): Promise<readonly StoredRunSummary[]>;
  /** See `runStatistics`. */
  statistics(steps: readonly TimeStep[], scope: StatisticsScope): ReturnType<typeof runStatistics>;
  /** See `automationsWithEnds`. */
  automationsWithEnds(steps: readonly TimeStep[], groups: readonly string[]): Promise<readonly string[]>;
  lastRuns(automations: readonly string[], most: number): ReturnType<typeof lastRuns>;
  /** By `activity`; `after` is the last one of the page before. */
  tasks(run: string, page: { readonly limit: number; readonly after?: number | undefined }): Promise<readonly StoredTask[]>;
  /** Parts that are not kept are absent. */
  taskParts(run: string, activity: number): Promise<TaskParts>;
  /** Drops the data of tasks of ended runs, the oldest first, until so many bytes are free. Answers how many are. */
  dropTaskData(principals: readonly string[], bytes: number): Promise<number>;
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
  /** Of a `call: batch` task: see batches/batch-read-store.ts. */
  batch(call: ParentCall): Promise<StoredBatch | undefined>;
  batches(run: string): Promise<readonly StoredBatch[]>;
  batchOfTask(run: string, activity: number): Promise<StoredBatch | undefined>;
  sumsOfItems(runs: readonly string[]): Promise<ReadonlyMap<string, ItemSums>>;
  batchesLeft(outermost: string): Promise<BatchesLeft>;
  /**
   * Creates a run that repeats what another one left of its batches, and takes that for it. `judge` throws where the run must not be created.
   * False: a run with this id exists.
   */
  repeat(run: NewRun, from: Pick<StoredRun, 'id' | 'repeats'>, judge: (taken: TakenItems) => void): Promise<boolean>;
  /** See batches/repetition-store.ts. */
  repeatedItems(batch: Parameters<typeof repeatedItemsOf>[1]): ReturnType<typeof repeatedItemsOf>;
  items(call: ParentCall, page: ItemPage): Promise<readonly StoredItem[]>;
  /** Ids of the runs of items that have not ended. */
  openItems(call: ParentCall): Promise<readonly string[]>;
  /** Batches of the run that have not ended. */
  openBatches(run: string): Promise<readonly ParentCall[]>;
  /** Events that are not of a run. A second one with the same kind, `sender`, `source` and `id` is not stored again. */
  publish(events: readonly NewEvent[]): Promise<void>;
  /** Message events in the order of their numbers. */
  messages(start: MessageStart & { readonly limit: number }): Promise<readonly EventRecord[]>;
  /** Events of any kind in the order of their numbers. Where one is visible, all with lower numbers are. */
  events(options: EventsOptions): Promise<readonly EventRecord[]>;
  /** The highest number of an event; 0 where there is none. */
  lastEvent(): Promise<number>;
  /**
   * Marks the store as lost: see store-loss-store.ts. Nothing of a run that another transaction of before claimed is written after it. False:
   * the loss was marked before.
   */
  markLost(loss: StoreLoss, options: Parameters<typeof markLost>[2]): Promise<boolean>;
  /** Lets the runs go on that a loss holds. Answers how many. */
  releaseHeld(): Promise<number>;
  /** The losses that people have not released. */
  openLoss(): Promise<OpenLoss | undefined>;
  counts(): Promise<RunCounts>;
  /** Deletes in a batch what is old. Answers how much; 0 where none is left. */
  forget(options: ForgetOptions): Promise<number>;
  /** Tells the listeners of this process of a change. */
  tell(change: RunChange): void;
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
  /** Whose transactions steps of runs share: those of the audit log. Default: they have their own. */
  readonly join?: Join;
}

export function createRunStore({
  database,
  clock,
  visible,
  time = 'server',
  limitReached,
  requireRoom = () => {},
  personOf = (principal) => principal,
  join = ownTransactions(database),
}: RunStoreOptions): RunStore {
  const changes = createRunChanges(database);
  const now = storeTime(database, clock, time);
  const statistics = { rollups: createRollups(database), gateway: randomHex(8) };
  const context: RunStoreContext = { database, clock, visible, changes, limitReached, personOf, now, ...statistics };
  const writes = createWriteGroups(context, join);
  const roomFor = requiring(requireRoom);
  const creations = createCreationGroups(context);
  return {
    create: roomFor((runs) => creations.add(runs)),
    changeWith: (work) => changeRunsWith(context, work),
    claim: roomFor((options) => claimRuns(context, options)),
    renew: (options) => renewLeases(context, options),
    save: roomFor((write) => writes.add(write)),
    nextWake: (options = {}) => nextWake(context, options),
    command: (run, command, key) => queueCommands(context, [{ run, command, key }]),
    commandAll: (commands) => queueCommands(context, commands),
    commandsOf: (runs) => queuedCommands(context, runs),
    read: (id) => readRun(context, id),
    summary: (id) => readSummary(context, id),
    readState: (id) => readRunState(context, id),
    list: (filter, page) => listRuns(context, filter, page),
    statistics: (steps, scope) => runStatistics(context, steps, scope),
    automationsWithEnds: (steps, groups) => automationsWithEnds(context, steps, groups),
    lastRuns: (automations, most) => lastRuns(database, automations, most),
    tasks: (run, page) => listTasks(context, run, page),
    taskParts: (run, activity) => readTaskParts(database, run, activity),
    dropTaskData: (principals, bytes) => dropTaskData(database, principals, bytes),
    people: (runs) => joinedPeople(context, runs),
    isPinned: (digests) => isPinned(context, digests),
    callingPrincipals: () => callingPrincipals(context),
    callingRuns: (principal) => callingRuns(context, principal),
    children: (run) => openChildren(context, run),
    ...batchesIn(context),
    publish: roomFor((events) => publishEvents(context, events)),
    messages: (start) => readMessages(context, start),
    events: (options) => readEvents(context, options),
    lastEvent: () => lastEventNumber(context),
    markLost: (loss, options) => changeRunsWith(context, markLost(context, loss, options)),
    releaseHeld: () => changeRunsWith(context, releaseHeld(context, clock.now())),
    openLoss: () => openLoss(context),
    counts: () => countRuns(context),
    forget: (options) => forgetRuns(context, options),
    tell: (change) => changes.tell(change),
    onChange: (listener) => changes.onChange(listener),
    async close() {
      await Promise.all([creations.settled(), writes.settled()]);
      changes.close();
    },
  };
}

function batchesIn(context: RunStoreContext) {
  return {
    batch: (call) => readBatch(context, call),
    batches: (run) => batchesOf(context, run),
    batchOfTask: (run, activity) => batchOfTask(context, run, activity),
    sumsOfItems: (runs) => sumsOfItems(context, runs),
    batchesLeft: (outermost) => batchesLeft(context, outermost),
    repeat: (run, from, judge) => changeRunsWith(context, repeating(context, run, { from, judge })),
    repeatedItems: (batch) => repeatedItemsOf(context, batch),
    items: (call, page) => readItems(context, call, page),
    openItems: (call) => openItems(context, call),
    openBatches: (run) => openBatches(context, run),
  } satisfies Partial<RunStore>;
}

function requiring(requireRoom: () => void) {
  return <A, R>(work: (argument: A) => Promise<R>) =>
    async (argument: A): Promise<R> => {
      requireRoom();
      return await work(argument);
    };
}

function createWriteGroups(context: RunStoreContext, join: Join): GroupCommit<RunWrite, WriteOutcome> {
  return new GroupCommit({
    join,
    write: (transaction, items) => context.changes.within(transaction, (within) => writeSteps(context, within, items)),
    keyOf: ({ run }) => run,
    sizeOf: ({ state, output, data = [], batches = [] }) =>
      (state?.text.length ?? 0) +
      sizeOfItems(batches) +
      (output?.length ?? 0) +
      sizeOfValues(state?.values) +
      data.reduce((size, parts) => size + sizeOfParts(parts), 0),
  });
}

function createCreationGroups(context: RunStoreContext): GroupCommit<readonly NewRun[], readonly StoredRun[]> {
  return new GroupCommit<readonly NewRun[], readonly StoredRun[]>({
    join: ownTransactions(context.database),
    write: (transaction, items) =>
      context.changes.within(transaction, async (within) => {
        const created = await createRunsIn(within, items.flat(), context);
        const byId = new Map(created.map((run) => [run.id, run]));
        const result = items.map((runs) => runs.flatMap(({ id }) => byId.get(id) ?? []));
        return { result, runs: created.map(({ id }) => id), events: false };
      }),
    // Two requests with one Idempotency-Key create the same run, and the first of them counts.
    keyOf: ([first]) => first?.id ?? '',
    sizeOf: (runs) => runs.reduce((size, { input }) => size + input.length, 0),
  });
}

function changeRunsWith<T>(context: RunStoreContext, work: ChangingWork<T>): Promise<T> {
  return context.changes.commit(async (transaction) => {
    const { result, runs = [], commands = [], events = [], all } = await work(transaction);
    const created = await createRunsIn(transaction, runs, context);
    const commanded = await commandRuns(context, transaction, commands);
    await appendEvents(
      context,
      transaction,
      events.map((event) => ({ run: null, automation: null, event })),
    );
    return { result, runs: [...created.map(({ id }) => id), ...commanded], events: events.length > 0, all };
  });
}

function repeating(
  { database: { dialect } }: RunStoreContext,
  run: NewRun,
  { from, judge }: { readonly from: Pick<StoredRun, 'id' | 'repeats'>; readonly judge: (taken: TakenItems) => void },
): ChangingWork<boolean> {
  return async (transaction) => {
    // Of several requests at the same time, each sees what the one before took.
    const source = transaction.selectFrom('run').select('id').where('id', '=', from.id);
    await (dialect === 'postgres' ? source.forUpdate() : source).execute();
    const there = await transaction.selectFrom('run').select('id').where('id', '=', run.id).executeTakeFirst();
    if (there !== undefined) return { result: false };
    const taken = await takeItemsIn(transaction, dialect, { from, by: run.id });
    judge(taken);
    return { result: true, runs: [{ ...run, repeats: { run: from.id, hasRest: taken.hasRest } }] };
  };
}

function sizeOfItems(batches: readonly BatchWrite[]): number {
  return batches.flatMap(({ begins }) => begins?.items ?? []).reduce((size, { value }) => size + value.length, 0);
}

function sizeOfValues(values: ReadonlyMap<string, string> = new Map()): number {
  return [...values.values()].reduce((size, { length }) => size + length, 0);
}
