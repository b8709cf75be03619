import { randomBytes } from 'node:crypto';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import { createOutageLog } from '#base/outage-log.ts';
import { StoreSteadiness, usualLease } from '#base/store-steadiness.ts';
import type { Database } from '#database/database.ts';
import { reasonOfFailure } from '#database/store-failure.ts';
import { EndCounter } from '#statistics/end-counter.ts';
import { createRollups } from '#statistics/rollups.ts';
import type { AuditFacts, LostEntries } from './audit-entry.ts';
import { createMaintenance } from './audit-maintenance.ts';
import { createAuditPruning, createPruningRound } from './audit-pruning.ts';
import { createAuditStore, HeadMissing } from './audit-store.ts';
import { createKeptBodies } from './bodies/kept-bodies.ts';
import { type AuditCalls, createCalls, endedCall, entryOf } from './calls/audit-calls.ts';
import { RecentCalls } from './calls/recent-calls.ts';
import type { AuditKey } from './chain/audit-key.ts';
import { type ChainWriter, type ChainWriterOptions, createChainWriter } from './chain/chain-writer.ts';
import type { Join } from './companion.ts';
import { EntryQueue } from './entry-queue.ts';
import { createIdempotencyKeys, createKeptReplies } from './idempotency/idempotency-keys.ts';
import { RepeatedRefusals } from './repeated-refusals.ts';
import { withinSize } from './size-limit.ts';

/** Records in the store which principal did what, and how it ended. */
export interface AuditLog extends AuditCalls {
  /**
   * As `record`, for a refusal before its caller is known. Repeated ones are counted (repeated-refusals.ts). `source`: the address of
   * the caller, or the group of addresses that one caller can have.
   */
  recordRefusal(facts: AuditFacts, source: string): void;
  /** True if the reply to a call with an Idempotency-Key can be kept; `length`: characters of the sealed reply. Ask once a reply. */
  keepsReply(length: number): boolean;
  /** The companion writes in the transactions of the log from now on. There is one: the journal of runs. */
  readonly join: Join;
  counts(): AuditCounts;
  /**
   * Looks whether the store has what it acknowledged, marks a loss, and records that the gateway runs. Rejects where the store cannot be
   * written.
   */
  check(): Promise<void>;
  /** Marks the store as lost, and puts on record what it lost of another chain. Rejects where `lost` does. */
  recordLost(lost: LostEntries, key: AuditKey): Promise<void>;
  /** Writes all entries, then a record that the gateway ended. */
  close(): Promise<void>;
}

/** `repeated`, `withoutRoom`: refusals that have no record of their own. */
export interface AuditCounts {
  readonly waiting: number;
  readonly dropped: number;
  readonly repeated: number;
  readonly withoutRoom: number;
  /** Records that the store acknowledged and lost, as this gateway noticed. */
  readonly lost: number;
  /** Entries that this gateway deleted before `retention` had passed, because the log was larger than `maxSize`. */
  readonly early: number;
}

interface AuditLogOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  /** `retention` in milliseconds, `maxSize` in bytes. */
  readonly config: {
    readonly retention: number;
    readonly maxSize?: number;
    readonly checkpointFile?: string;
    /** Default: `changes`. */
    readonly bodies?: 'changes' | 'none';
    /** Bytes of all bodies. */
    readonly bodiesMaxSize?: number;
  };
  /** Milliseconds: an upper limit for the duration of a call under the configuration in force. */
  readonly maxCallDuration: () => number;
  /** The disk of the store is nearly full: refusals and replies are not stored. */
  readonly isShort?: () => boolean;
  /** Learns from the beats of this chain, and says when the chain of another gateway counts as ended. */
  readonly steady?: StoreSteadiness;
  /** Told of entries that the store lost, before the log is written again. Where it rejects, the log tells it again. */
  readonly lost?: (lost: LostEntries) => Promise<void>;
}

/** Begins the chain of this process. If the store cannot be written now, the chain begins as soon as it can. */
export async function createAuditLog(options: AuditLogOptions): Promise<AuditLog> {
  const { database, clock, log, config, isShort = () => false, lost = async () => {} } = options;
  const { steady = new StoreSteadiness(clock, database) } = options;
  const { maxSize = Infinity } = config;
  const chain = `${clock.now().toString(36)}-${randomBytes(6).toString('hex')}`;
  const store = createAuditStore(database);
  const { replies, bodies, early, pruning } = createRoom(options);
  const losses = createNoticedLosses({ clock, lost, tell: (key, found) => maintenance.tell(key, found) });
  const startFacts = startOf(options);
  const chainWriter = createChainWriter({ store, clock, chain, aliveFor: usualLease, steady, startFacts, ...losses });
  const limits = { maxSize, round: createPruningRound(pruning), monotonic: () => clock.monotonic() };
  const writer = withinSize(bodies.within(chainWriter), limits);
  const ends = createEndCounter(database, chain);
  const queue = createQueue(writer, { clock, log, ends, written: () => maintenance.written() });
  const check = (): Promise<void> => checkChain(chainWriter, queue);
  const earlierReply = createIdempotencyKeys({ ...options, chain, steady });
  const calls = createCalls({ chain, queue, clock, bodies, ends, ...losses, earlierReply });
  const refusals = new RepeatedRefusals({ clock, write: (facts) => calls.record(facts), isShort });
  const maintenance = createMaintenance({
    ...options,
    chain,
    store,
    writer,
    beat: check,
    replies,
    bodies,
    refusals,
    prune: createAuditPruning(pruning),
  });
  // Without a store, the next minute measures again.
  await Promise.all([replies.measure(), bodies.measure()]).catch(() => {});
  await queue.flush();
  await maintenance.checkpoint();
  return {
    ...calls,
    record: (facts) => (isRefusal(facts) ? refusals.addKnown(facts) : calls.record(facts)),
    recordRefusal: (facts, source) => refusals.add(facts, source),
    keepsReply: (length) => replies.take(length),
    join: queue.join,
    counts: () => ({ ...queue.counts(), ...refusals.counts(), lost: losses.records(), early: early.count() }),
    check,
    async recordLost(found, key) {
      await losses.lost(found, key);
      calls.record(lossFacts(found));
    },
    async close() {
      await maintenance.stop();
      refusals.recordCounts({ all: true });
      const { left, ended } = await queue.close(entryOf(clock, 'record', 0, { event: 'end' }));
      if (left > 0) log.error('records of the audit log could not be written and are lost', { reason: `${left} records` });
      await maintenance.end(ended);
      await ends.close();
    },
  };
}

/** `chain`: of this gateway, whose rows no other one writes. */
function createEndCounter(database: Database, chain: string): EndCounter {
  const rollups = createRollups(database);
  return new EndCounter((ends) => rollups.counted(ends, { gateway: chain }).execute(database.records));
}

function isRefusal({ event, outcome }: AuditFacts): boolean {
  return event === 'request' && outcome === 'refused';
}

function startOf({ version }: AuditLogOptions): ChainWriterOptions['startFacts'] {
  const facts = { event: 'start', detail: `version ${version}` } as const;
  return (links, gap) => JSON.stringify({ ...facts, links, ...(gap && { lost: gap }) });
}

/** What keeps the log and what belongs to it within their sizes. */
function createRoom(options: AuditLogOptions) {
  const { database, clock, log, config, isShort = () => false } = options;
  const { maxSize = Infinity, bodies = 'changes', bodiesMaxSize = Infinity } = config;
  const replies = createKeptReplies({ database, maxSize, isShort });
  const early = createEarlyDeletions(clock, log);
  return {
    replies,
    early,
    bodies: createKeptBodies({ database, keeps: bodies === 'changes', maxSize: bodiesMaxSize, isShort }),
    pruning: { ...options, ...config, sizeOfKeys: () => replies.size(), early: (entries: number) => early.add(entries) },
  };
}

/** Milliseconds between two lines of the log. */
const earlyInterval = 3_600_000;

function createEarlyDeletions(clock: Clock, log: Log): { readonly add: (entries: number) => void; readonly count: () => number } {
  let [count, toldAt] = [0, -Infinity];
  return {
    count: () => count,
    add(entries) {
      count += entries;
      if (clock.monotonic() - toldAt < earlyInterval) return;
      toldAt = clock.monotonic();
      log.warn('the audit log is larger than audit.maxSize: the gateway deletes records before audit.retention ends');
    },
  };
}

/** What the writer of the chain needs for losses, and how many records they took. `tell`: writes to where checkpoints go. */
function createNoticedLosses({
  clock,
  lost,
  tell,
}: Pick<AuditLogOptions, 'clock'> & {
  readonly lost: NonNullable<AuditLogOptions['lost']>;
  readonly tell: (key: AuditKey, found: LostEntries) => Promise<void>;
}): Pick<ChainWriterOptions, 'afterLoss' | 'lost'> & { readonly recent: RecentCalls; readonly records: () => number } {
  const recent = new RecentCalls();
  let records = 0;
  return {
    recent,
    records: () => records,
    afterLoss: (found) => ({ mark: entryOf(clock, 'record', 0, lossFacts(found)), calls: recent.calls }),
    async lost(found, key) {
      await lost(found);
      records += found.records;
      await tell(key, found);
    },
  };
}

function createQueue(
  writer: Pick<ChainWriter, 'append' | 'recover'>,
  {
    clock,
    log,
    ends,
    written,
  }: Pick<AuditLogOptions, 'clock' | 'log'> & { readonly ends: EndCounter; readonly written: () => void },
): EntryQueue {
  return new EntryQueue({
    writer,
    droppedEntry: (count) => entryOf(clock, 'record', 0, { event: 'dropped', detail: lossText(count) }),
    refusedEntry: ({ call, key, intent, facts: asked }) => {
      const of = JSON.parse(asked) as AuditFacts;
      const facts = { event: of.event, outcome: 'refused', code: 'audit-unavailable' } as const;
      ends.add(endedCall(facts, clock.now(), of));
      return { ...entryOf(clock, 'outcome', call, facts, key && { kind: 'release' }), intent };
    },
    ...failureLog(log, written),
  });
}

/** See `AuditLog.check`: a loss is marked when the next batch is written. */
async function checkChain(chainWriter: Pick<ChainWriter, 'beat'>, queue: EntryQueue): Promise<void> {
  try {
    await chainWriter.beat();
  } catch (error) {
    if (!(error instanceof HeadMissing)) throw error;
    await queue.flush();
  }
}

function lossFacts(lost: LostEntries): AuditFacts {
  const { chain, from, to, records } = lost;
  return { event: 'lost', lost, detail: `the store lost ${chain}/${from} to ${chain}/${to}: ${records} records` };
}

/** Logs when the store begins to fail, and when it accepts entries again. */
function failureLog(
  log: Log,
  written: () => void,
): { readonly onFailure: (error: unknown) => void; readonly onSuccess: () => void } {
  const outages = createOutageLog(log, {
    began: 'the audit log cannot be written: calls that change something are refused',
    ended: 'the audit log is written again',
  });
  return {
    onFailure(error) {
      outages.failed({ errorName: error instanceof Error ? error.name : 'unknown', reason: reasonOfFailure(error) });
    },
    onSuccess() {
      outages.worked();
      written();
    },
  };
}

function lossText(count: number): string {
  return count === 1 ? '1 record was not kept' : `${count} records were not kept`;
}
