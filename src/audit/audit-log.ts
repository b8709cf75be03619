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

/** Who did what, and what came of it, kept in the store. */
export interface AuditLog {
  /** Resolves once the intent is durable: the call may leave. Rejects with 503 `audit-unavailable`, and then it may not. */
  intend(facts: AuditFacts): Promise<Intended>;
  /**
   * As `intend`, with the key that the call came with: at most one call is made for it, whichever gateway it comes to. Resolves with the
   * reply that was kept where the call was made before; rejects with 409 or 422 where that cannot be repeated.
   */
  intendOnce(facts: AuditFacts, request: IdempotentRequest): Promise<Intended | EarlierReply>;
  /** Written within a second, or dropped and counted where the store is away for long. */
  record(facts: AuditFacts): void;
  counts(): { readonly waiting: number; readonly dropped: number };
  /** Writes everything, and that the gateway ends. */
  close(): Promise<void>;
}

/** A call that is on record and has not ended. */
export interface Intended {
  /** The call is about to go on to another address. As `intend`. */
  step(facts: AuditFacts): Promise<void>;
  /**
   * Resolves once it is durable; where the store does not take it, it is kept and written as soon as it does. `key`: what becomes
   * of the idempotency key, where there is one.
   */
  outcome(facts: AuditFacts, key?: KeyEffect): Promise<void>;
  /** More is known than with `outcome`, such as the size of a long reply, or that it broke off; written within a second. `key` as there. */
  afterword(facts: AuditFacts, key?: KeyEffect): void;
}

interface AuditLogOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  /** `retention` in milliseconds, `maxSize` in bytes. */
  readonly config: { readonly retention: number; readonly maxSize?: number; readonly checkpointFile?: string };
  /** Milliseconds that no call takes longer than, as configured by now. */
  readonly longestCall: () => number;
}

/** Milliseconds. A gateway that was killed counts as gone when it has said nothing for `aliveFor`. */
const beatInterval = 3_000;
const aliveFor = 10_000;
const checkpointInterval = 60_000;
const pruningInterval = 60_000;

/** Begins a chain of this process. Where the store cannot be written now, it is begun as soon as it can. */
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
  const upkeep = createUpkeep({ ...options, chain, store, writer });
  await queue.flush();
  await upkeep.checkpoint();
  return {
    ...createCalls({ queue, clock, earlierReply: createIdempotencyKeys({ ...options, chain }) }),
    counts: () => queue.counts(),
    async close() {
      await upkeep.stop();
      const { left, ended } = await queue.close(entryOf(clock, 'record', 0, { event: 'end' }));
      if (left > 0) log.error('records of the audit log could not be written and are lost', { reason: `${left} records` });
      await upkeep.end(ended);
    },
  };
}

function entryOf(clock: Clock, kind: EntryKind, call: number, facts: AuditFacts, key?: KeyEffect): UnchainedEntry {
  const { principal, adapter } = facts;
  return { kind, call, at: clock.now(), principal, adapter, facts: JSON.stringify(facts), key };
}

/** Calls and what becomes of them, as entries of the queue. */
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
    await queue.ahead(entryOf(clock, 'intent', call, facts, taken));
    return {
      step: (more) => queue.ahead(entryOf(clock, 'step', call, more)),
      outcome: (more, key) => queue.owed(entryOf(clock, 'outcome', call, more, taken && key)),
      afterword: (more, key) => queue.behind(entryOf(clock, 'outcome', call, more, taken && key)),
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
          // Somebody else was faster: what they have made of it shows now.
          if (!(error instanceof KeysTaken)) throw error;
        }
      }
    },
    record(facts) {
      const isCall = facts.event === 'request';
      if (isCall) calls += 1;
      queue.behind(entryOf(clock, 'record', isCall ? calls : 0, facts));
    },
  };
}

/** One line when the store begins to refuse, and one when it takes entries again. */
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

interface UpkeepOptions extends AuditLogOptions {
  readonly chain: string;
  readonly store: ReturnType<typeof createAuditStore>;
  readonly writer: ReturnType<typeof createChainWriter>;
}

/** What is done from time to time: signs of life, checkpoints, pruning. A failure waits for the next time. */
function createUpkeep({ database, clock, log, config, longestCall, chain, store, writer }: UpkeepOptions) {
  const sink = checkpointSink(config.checkpointFile, log);
  let checkpointed = 0;
  const checkpoint = async (): Promise<void> => {
    const state = writer.state();
    if (state === undefined || state.head.seq === checkpointed) return;
    // What it vouches for is on the disk before it: else a power cut would look like tampering.
    try {
      await writer.beat();
    } catch {
      return;
    }
    try {
      await sink(checkpointLine(state.key, chain, state.head));
      checkpointed = state.head.seq;
    } catch (error) {
      log.error('a checkpoint of the audit log could not be written; it is tried again', {
        reason: systemCode(error) ?? 'unknown',
        file: config.checkpointFile,
      });
    }
  };
  const prune = createAuditPruning({ database, clock, retention: config.retention, maxSize: config.maxSize, longestCall });
  let stopping = false;
  // The store's own log tells that it is away.
  const again = (): void => {};
  const timers = [
    every(beatInterval, () => writer.beat(), again),
    every(checkpointInterval, checkpoint, again),
    every(pruningInterval, () => prune(() => stopping), again),
    every(pruningInterval, () => forgetKeys(database, clock.now()), again),
  ];
  return {
    checkpoint,
    async stop(): Promise<void> {
      stopping = true;
      await Promise.all(timers.map((timer) => timer.stop()));
    },
    /** `ended`: the chain says so itself. One that does not, and is said to have ended, was tampered with. */
    async end(ended: boolean): Promise<void> {
      await checkpoint();
      const state = writer.state();
      if (ended && state !== undefined) await store.end(chain, state.head.at).catch(() => {});
    },
  };
}
