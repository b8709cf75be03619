import { randomBytes } from 'node:crypto';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import { systemCode } from '#base/system-code.ts';
import type { Database } from '#database/database.ts';
import type { ApprovalFact, AuditFacts, EntryKind } from './audit-entry.ts';
import { createMaintenance } from './audit-maintenance.ts';
import { createAuditPruning, createPruningRound } from './audit-pruning.ts';
import { createAuditStore } from './audit-store.ts';
import { createChainWriter } from './chain-writer.ts';
import { EntryQueue } from './entry-queue.ts';
import type { UnchainedEntry } from './hash-chain.ts';
import { createIdempotencyKeys, type EarlierReply } from './idempotency-keys.ts';
import type { IdempotentRequest } from './idempotent-request.ts';
import type { IntentPermit } from './intent-permit.ts';
import { createKeptReplies } from './kept-replies.ts';
import { type KeyChange, KeysTaken, PermitsLost } from './key-change.ts';
import { RepeatedRefusals } from './repeated-refusals.ts';
import { withinSize } from './size-limit.ts';

/** Records in the store which principal did what, and how it ended. */
export interface AuditLog {
  /**
   * Resolves once the intent is durable: then the call may leave. Rejects with 503 `audit-unavailable`: then it must not leave. So does a
   * `permit` that cannot be used any more, with what its `lost` answers.
   */
  intend(facts: AuditFacts, permit?: IntentPermit): Promise<Intended>;
  /**
   * As `intend`, for a call with an Idempotency-Key. All gateways together make at most one call for a key. If the call was made
   * before, resolves with its stored reply, or rejects with 409 or 422 if there is no reply to repeat. `permit` is asked once it is
   * known that there was no earlier call.
   */
  intendOnce(
    facts: AuditFacts,
    request: IdempotentRequest,
    permit?: () => Promise<IntentPermit | undefined>,
  ): Promise<Intended | EarlierReply>;
  /** Written within a second. If the store is away for long, the record is dropped and counted. */
  record(facts: AuditFacts): void;
  /** Resolves once all are durable. Rejects with 503 `audit-unavailable`: then some of them may be there. */
  prove(facts: readonly ApprovalFact[]): Promise<void>;
  /**
   * As `record`, for a refusal before its caller is known. Repeated ones are counted (repeated-refusals.ts). `source`: the address of
   * the caller, or the group of addresses that one caller can have.
   */
  recordRefusal(facts: AuditFacts, source: string): void;
  /** True if the reply to a call with an Idempotency-Key can be kept; `length`: characters of the sealed reply. Ask once a reply. */
  keepsReply(length: number): boolean;
  counts(): AuditCounts;
  /** Writes all entries, then a record that the gateway ended. */
  close(): Promise<void>;
}

/** `repeated`, `withoutRoom`: refusals that have no record of their own. */
export interface AuditCounts {
  readonly waiting: number;
  readonly dropped: number;
  readonly repeated: number;
  readonly withoutRoom: number;
}

/** A call whose intent is durable and that has not ended. */
export interface Intended {
  /** The call is about to go to another address. Resolves and rejects as `intend`. */
  step(facts: AuditFacts): Promise<void>;
  /**
   * Resolves once the outcome is durable. If the store does not accept it, resolves too: the outcome is kept in memory until the
   * store does. `key`: the change to the idempotency key, if the call has one.
   */
  outcome(facts: AuditFacts, key?: KeyChange): Promise<void>;
  /**
   * Adds what became known after `outcome`, such as the size of a long reply, or that the reply was aborted. Written within a
   * second. `key` as in `outcome`.
   */
  amend(facts: AuditFacts, key?: KeyChange): void;
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
  /** The disk of the store is nearly full: refusals and replies are not stored. */
  readonly isShort?: () => boolean;
}

/** Milliseconds for which one update of the chain makes the gateway count as alive. */
const aliveFor = 10_000;

/** Begins the chain of this process. If the store cannot be written now, the chain begins as soon as it can. */
export async function createAuditLog(options: AuditLogOptions): Promise<AuditLog> {
  const { database, clock, log, config, isShort = () => false } = options;
  const { maxSize = Infinity } = config;
  const chain = `${clock.now().toString(36)}-${randomBytes(6).toString('hex')}`;
  const store = createAuditStore(database);
  const startFacts = { event: 'start', detail: `version ${options.version}` } as const;
  const replies = createKeptReplies({ database, maxSize, isShort });
  const pruning = { ...options, ...config, sizeOfKeys: () => replies.size() };
  const chainWriter = createChainWriter({
    store,
    clock,
    chain,
    aliveFor,
    startFacts: (links) => JSON.stringify({ ...startFacts, links }),
  });
  const writer = withinSize(chainWriter, { maxSize, round: createPruningRound(pruning), monotonic: () => clock.monotonic() });
  const queue = new EntryQueue({
    writer,
    droppedEntry: (count) => entryOf(clock, 'record', 0, { event: 'dropped', detail: lossText(count) }),
    refusedEntry: ({ call, key }) => {
      const facts = { event: 'request', outcome: 'refused', code: 'audit-unavailable' } as const;
      return entryOf(clock, 'outcome', call, facts, key && { kind: 'release' });
    },
    ...failureLog(log, () => maintenance.written()),
  });
  const calls = createCalls({ queue, clock, earlierReply: createIdempotencyKeys({ ...options, chain }) });
  const refusals = new RepeatedRefusals({ clock, write: calls.record, isShort });
  const maintenance = createMaintenance({
    ...options,
    chain,
    store,
    writer,
    replies,
    refusals,
    prune: createAuditPruning(pruning),
  });
  // Without a store, the next minute measures again.
  await replies.measure().catch(() => {});
  await queue.flush();
  await maintenance.checkpoint();
  return {
    ...calls,
    record(facts) {
      if (facts.event === 'request' && facts.outcome === 'refused') refusals.addKnown(facts);
      else calls.record(facts);
    },
    recordRefusal: (facts, source) => refusals.add(facts, source),
    keepsReply: (length) => replies.take(length),
    counts: () => ({ ...queue.counts(), ...refusals.counts() }),
    async close() {
      await maintenance.stop();
      refusals.recordCounts({ all: true });
      const { left, ended } = await queue.close(entryOf(clock, 'record', 0, { event: 'end' }));
      if (left > 0) log.error('records of the audit log could not be written and are lost', { reason: `${left} records` });
      await maintenance.end(ended);
    },
  };
}

function entryOf(clock: Clock, kind: EntryKind, call: number, facts: AuditFacts, key?: KeyChange): UnchainedEntry {
  const { principal, adapter, proof } = facts;
  return { kind, call, at: clock.now(), principal, adapter, approval: proof?.approval, facts: JSON.stringify(facts), key };
}

/** Turns calls into entries of the queue. */
function createCalls(options: {
  readonly queue: EntryQueue;
  readonly clock: Clock;
  readonly earlierReply: ReturnType<typeof createIdempotencyKeys>;
}): Pick<AuditLog, 'intend' | 'intendOnce' | 'record' | 'prove'> {
  const { queue, clock, earlierReply } = options;
  let calls = 0;
  const intend = async (facts: AuditFacts, permit?: IntentPermit, taken?: KeyChange): Promise<Intended> => {
    calls += 1;
    const call = calls;
    try {
      await queue.writeAhead({ ...entryOf(clock, 'intent', call, facts, taken), permit });
    } catch (error) {
      throw permit !== undefined && error instanceof PermitsLost ? await permit.lost() : error;
    }
    return {
      step: (more) => queue.writeAhead(entryOf(clock, 'step', call, more)),
      outcome: (more, key) => queue.writeAwaited(entryOf(clock, 'outcome', call, more, taken && key)),
      amend: (more, key) => queue.writeInBackground(entryOf(clock, 'outcome', call, more, taken && key)),
    };
  };
  return {
    intend: (facts, permit) => intend(facts, permit),
    async intendOnce(facts, request, askPermit) {
      const { id, fingerprint } = request;
      let permit: Promise<IntentPermit | undefined> | undefined;
      // A permit may be used up by an earlier call, which the look-up finds.
      for (let isNew = request.isNew === true && askPermit === undefined; ; isNew = false) {
        const earlier = isNew ? undefined : await earlierReply(request, { reads: facts.verb === 'GET' });
        if (earlier !== undefined) return earlier;
        permit ??= askPermit?.();
        try {
          return await intend(facts, await permit, { kind: 'take', id, fingerprint });
        } catch (error) {
          // Another call took the key first: the next look-up finds that call.
          if (!(error instanceof KeysTaken)) throw error;
        }
      }
    },
    async prove(facts) {
      await Promise.all(facts.map((proof) => queue.writeAhead(entryOf(clock, 'proof', 0, { event: 'proof', proof }))));
    },
    record(facts) {
      const isCall = facts.event === 'request';
      if (isCall) calls += 1;
      queue.writeInBackground(entryOf(clock, 'record', isCall ? calls : 0, facts));
    },
  };
}

/** Writes one log line when the store begins to fail, and one when it accepts entries again. */
function failureLog(
  log: Log,
  written: () => void,
): { readonly onFailure: (error: unknown) => void; readonly onSuccess: () => void } {
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
      written();
    },
  };
}

function lossText(count: number): string {
  return count === 1 ? '1 record was not kept' : `${count} records were not kept`;
}
