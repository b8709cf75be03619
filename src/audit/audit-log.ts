import { randomBytes } from 'node:crypto';
import type { Clock } from '#base/clock.ts';
import { every } from '#base/every.ts';
import type { Log } from '#base/log.ts';
import { systemCode } from '#base/system-code.ts';
import type { Database } from '#database/database.ts';
import type { AuditFacts, EntryKind } from './audit-entry.ts';
import { createAuditPruning } from './audit-pruning.ts';
import { createAuditStore } from './audit-store.ts';
import { createChainWriter } from './chain-writer.ts';
import { checkpointLine } from './checkpoint.ts';
import { checkpointSink } from './checkpoint-sink.ts';
import { EntryQueue } from './entry-queue.ts';
import type { UnchainedEntry } from './hash-chain.ts';
import { createIdempotencyKeys, type EarlierReply } from './idempotency-keys.ts';
import { forgetKeys } from './idempotency-store.ts';
import type { IdempotentRequest } from './idempotent-request.ts';
import { type KeyEffect, KeysTaken } from './key-effect.ts';

/** Records in the store which principal did what, and how it ended. */
export interface AuditLog {
  /**
   * Resolves once the intent is durable: then the call may leave. Rejects with 503 `audit-unavailable`: then it must not leave.
   */
  intend(facts: AuditFacts): Promise<Intended>;
  /**
   * As `intend`, for a call with an Idempotency-Key. All gateways together make at most one call for a key. If the call was made
   * before, resolves with its stored reply, or rejects with 409 or 422 if there is no reply to repeat.
   */
  intendOnce(facts: AuditFacts, request: IdempotentRequest): Promise<Intended | EarlierReply>;
  /** Written within a second. If the store is away for long, the record is dropped and counted. */
  record(facts: AuditFacts): void;
  counts(): { readonly waiting: number; readonly dropped: number };
  /** Writes all entries, then a record that the gateway ended. */
  close(): Promise<void>;
}

/** A call whose intent is durable and that has not ended. */
export interface Intended {
  /** The call is about to go to another address. Resolves and rejects as `intend`. */
  step(facts: AuditFacts): Promise<void>;
  /**
   * Resolves once the outcome is durable. If the store does not accept it, resolves too: the outcome is kept in memory until the
   * store does. `key`: the effect on the idempotency key, if the call has one.
   */
  outcome(facts: AuditFacts, key?: KeyEffect): Promise<void>;
  /**
   * Adds what became known after `outcome`, such as the size of a long reply, or that the reply was aborted. Written within a
   * second. `key` as in `outcome`.
   */
  amend(facts: AuditFacts, key?: KeyEffect): void;
}

interface AuditLogOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  /** `retention` in milliseconds, `maxSize` in bytes. */
  readonly config: { readonly retention: number; readonly maxSize?: number; readonly checkpointFile?: string };
  /** Milliseconds: an upper limit for the duration of a call under the configuration in force. */
  readonly longestCall: () => number;
}

/**
 * Milliseconds. The gateway updates its chain every `beatInterval`. Without an update, other gateways take it for dead after
 * `aliveFor`.
 */
const beatInterval = 3_000;
const aliveFor = 10_000;
const checkpointInterval = 60_000;
const pruningInterval = 60_000;

/** Begins the chain of this process. If the store cannot be written now, the chain begins as soon as it can. */
export async function createAuditLog(options: AuditLogOptions): Promise<AuditLog> {
  const { database, clock, log } = options;
  const chain = `${clock.now().toString(36)}-${randomBytes(6).toString('hex')}`;
  const store = createAuditStore(database);
  const startFacts = { event: 'start', detail: `version ${options.version}` } as const;
  const writer = createChainWriter({
    store,
    clock,
    chain,
    aliveFor,
    startFacts: (links) => JSON.stringify({ ...startFacts, links }),
  });
  const queue = new EntryQueue({
    writer,
    droppedEntry: (count) => entryOf(clock, 'record', 0, { event: 'dropped', detail: `${count} records were not kept` }),
    refusedEntry: ({ call, key }) => {
      const facts = { event: 'request', outcome: 'refused', code: 'audit-unavailable' } as const;
      return entryOf(clock, 'outcome', call, facts, key && { kind: 'release' });
    },
    ...failureLog(log),
  });
  const maintenance = createMaintenance({ ...options, chain, store, writer });
  await queue.flush();
  await maintenance.checkpoint();
  return {
    ...createCalls({ queue, clock, earlierReply: createIdempotencyKeys({ ...options, chain }) }),
    counts: () => queue.counts(),
    async close() {
      await maintenance.stop();
      const { left, ended } = await queue.close(entryOf(clock, 'record', 0, { event: 'end' }));
      if (left > 0) log.error('records of the audit log could not be written and are lost', { reason: `${left} records` });
      await maintenance.end(ended);
    },
  };
}

function entryOf(clock: Clock, kind: EntryKind, call: number, facts: AuditFacts, key?: KeyEffect): UnchainedEntry {
  const { principal, adapter } = facts;
  return { kind, call, at: clock.now(), principal, adapter, facts: JSON.stringify(facts), key };
}

/** Turns calls into entries of the queue. */
function createCalls(options: {
  readonly queue: EntryQueue;
  readonly clock: Clock;
  readonly earlierReply: ReturnType<typeof createIdempotencyKeys>;
}): Pick<AuditLog, 'intend' | 'intendOnce' | 'record'> {
  const { queue, clock, earlierReply } = options;
  let calls = 0;
  const intend = async (facts: AuditFacts, taken?: KeyEffect): Promise<Intended> => {
    calls += 1;
    const call = calls;
    await queue.writeAhead(entryOf(clock, 'intent', call, facts, taken));
    return {
      step: (more) => queue.writeAhead(entryOf(clock, 'step', call, more)),
      outcome: (more, key) => queue.writeAwaited(entryOf(clock, 'outcome', call, more, taken && key)),
      amend: (more, key) => queue.writeInBackground(entryOf(clock, 'outcome', call, more, taken && key)),
    };
  };
  return {
    intend: (facts) => intend(facts),
    async intendOnce(facts, request) {
      const { id, fingerprint } = request;
      for (;;) {
        const earlier = await earlierReply(request, { reads: facts.verb === 'GET' });
        if (earlier !== undefined) return earlier;
        try {
          return await intend(facts, { kind: 'take', id, fingerprint });
        } catch (error) {
          // Another call took the key first: the next look-up finds that call.
          if (!(error instanceof KeysTaken)) throw error;
        }
      }
    },
    record(facts) {
      const isCall = facts.event === 'request';
      if (isCall) calls += 1;
      queue.writeInBackground(entryOf(clock, 'record', isCall ? calls : 0, facts));
    },
  };
}

/** Writes one log line when the store begins to fail, and one when it accepts entries again. */
function failureLog(log: Log): { readonly onFailure: (error: unknown) => void; readonly onSuccess: () => void } {
  let failing = false;
  return {
    onFailure(error) {
      if (failing) return;
      failing = true;
      log.error('the audit log cannot be written: calls that change something are refused', {
        errorName: error instanceof Error ? error.name : 'unknown',
        reason: systemCode(error),
      });
    },
    onSuccess() {
      if (failing) log.info('the audit log is written again');
      failing = false;
    },
  };
}

interface MaintenanceOptions extends AuditLogOptions {
  readonly chain: string;
  readonly store: ReturnType<typeof createAuditStore>;
  readonly writer: ReturnType<typeof createChainWriter>;
}

/** Periodic work: updates of the chain, checkpoints, pruning. After a failure, the next run tries again. */
function createMaintenance({ database, clock, log, config, longestCall, chain, store, writer }: MaintenanceOptions) {
  const sink = checkpointSink(config.checkpointFile, log);
  let checkpointed = 0;
  const checkpoint = async (): Promise<void> => {
    const state = writer.state();
    if (state === undefined || state.head.seq === checkpointed) return;
    // All entries up to the checkpoint must be on the disk first. Otherwise a power failure could remove them, which would look
    // like tampering.
    try {
      await writer.beat();
    } catch {
      return;
    }
    try {
      await sink(checkpointLine(state.key, chain, state.head));
      checkpointed = state.head.seq;
    } catch (error) {
      log.error('a checkpoint of the audit log could not be written; the gateway tries again', {
        reason: systemCode(error) ?? 'unknown',
        file: config.checkpointFile,
      });
    }
  };
  const prune = createAuditPruning({ database, clock, retention: config.retention, maxSize: config.maxSize, longestCall });
  let stopping = false;
  // The store logs its own failures; the next run tries again.
  const tryAgain = (): void => {};
  const timers = [
    every(beatInterval, () => writer.beat(), tryAgain),
    every(checkpointInterval, checkpoint, tryAgain),
    every(pruningInterval, () => prune(() => stopping), tryAgain),
    every(pruningInterval, () => forgetKeys(database, clock.now()), tryAgain),
  ];
  return {
    checkpoint,
    async stop(): Promise<void> {
      stopping = true;
      await Promise.all(timers.map((timer) => timer.stop()));
    },
    /**
     * `ended`: the last entry of the chain records the end. Without that entry, a chain marked as ended would look like one that
     * was tampered with.
     */
    async end(ended: boolean): Promise<void> {
      await checkpoint();
      const state = writer.state();
      if (ended && state !== undefined) await store.end(chain, state.head.at).catch(() => {});
    },
  };
}
