import { sql, type Transaction } from 'kysely';
import type { ApprovalFact, ProvenFact } from '#audit/audit-entry.ts';
import type { AuditLog } from '#audit/audit-log.ts';
import type { Clock } from '#base/clock.ts';
import type { Database } from '#database/database.ts';
import { mayActOn } from '#database/row-version.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { ChangeRuns, RunsChange } from '#runs/journal/run-changes.ts';
import { type Approval, type ApprovalDecision, batchHolds, type StoredPreview } from './approval.ts';
import {
  announceIn,
  createIn,
  decideIn,
  expireIn,
  type Judge,
  type NewApproval,
  releaseIn,
  type UseOfApproval,
  useIn,
} from './approval-changes-store.ts';
import { approvalOfItem, factsOfApproval, idOfItemUse, isItemUsed, isSameFact } from './approval-facts.ts';
import { type ProofKey, proofOf, releaseText } from './approval-proof.ts';
import {
  type ApprovalFilter,
  type ApprovalPosition,
  approvalsOfSubject,
  countOpen,
  hashKey,
  listApprovals,
  type OpenApprovals,
  readApproval,
  readFacts,
  readOpenApprovals,
  unrecordedApprovals,
} from './approval-reading-store.ts';
import { textOfUse } from './approval-row.ts';
import { type Losses, withdrawalFrom } from './approval-withdrawal.ts';
import { type BatchUse, endUsedIn, releaseItemIn, useForItemIn, type Waiter } from './batches/batch-approval-store.ts';

/**
 * The approvals. Any number of gateways work on one store. What is asked and decided is in the audit log, too, once a method resolves: so a
 * change of the store alone takes nothing back. Every method rejects with `store-unavailable` or `audit-unavailable`.
 */
export interface ApprovalStore {
  /** Answers the open approval of the subject with the same rules where there is one. */
  create(made: NewApproval): Promise<{ readonly approval: Approval; readonly isNew: boolean }>;
  read(id: string): Promise<Approval | undefined>;
  /** As `read`, without body and preview. */
  readFacts(id: string): Promise<Approval | undefined>;
  /** The newest first, without bodies and previews. */
  ofSubject(subject: string): Promise<readonly Approval[]>;
  /** The newest first, without bodies and previews. */
  list(
    filter: ApprovalFilter,
    page: { readonly limit: number; readonly after?: ApprovalPosition | undefined },
  ): Promise<readonly Approval[]>;
  /** Open approvals that this version may act on, in the order of their ids, from the one after `after` on. */
  open(page: { readonly after: string; readonly limit: number }): Promise<readonly Approval[]>;
  /** The open approvals that these principals have asked for: how many, and the bytes of their bodies. */
  openOf(callers: readonly string[]): Promise<OpenApprovals>;
  /**
   * Decides while no other gateway can. `judge` throws where it may not be, and answers undefined where nothing changes. Undefined: there is
   * no such approval.
   */
  decide(id: string, judge: Judge): Promise<Approval | undefined>;
  /** Takes grants out for good. */
  withdraw(approval: Approval, losses: Losses): Promise<void>;
  /** Uses a granted approval up, in a transaction of its own or in this one. False where it cannot be used any more. `use`: see `textOfUse`. */
  use(use: UseOfApproval): Promise<boolean>;
  useIn(transaction: Transaction<Tables>, use: UseOfApproval): Promise<boolean>;
  /** The call of this use sent nothing: the approval can be used again. */
  release(id: string, use: string): Promise<void>;
  /** A call is about to use the approval of its batch. The grant holds for a day from the first one on, as the audit log says. */
  beginBatch(approval: Approval): Promise<void>;
  /** Whether a call of the item had a use of the approval at the place. Several approvals may have been asked for one after the other. */
  isItemUsed(use: Omit<BatchUse, 'use'>): Promise<boolean>;
  /** Uses the approval for a call of an item, in this transaction. False where it cannot be used, or was used for the item at the place. */
  useForItemIn(transaction: Transaction<Tables>, use: BatchUse, record: string): Promise<boolean>;
  /** Puts a use into the audit log by itself. */
  prove(use: ApprovalFact): Promise<void>;
  /** Approvals of batches for which the task has waited. */
  waitedFor(task: Waiter): Promise<readonly string[]>;
  /** The call of this use sent nothing. */
  releaseItem(use: BatchUse): Promise<void>;
  /** Ends used approvals of batches that have ended, or whose day is over. */
  endUsed(limit: number): Promise<void>;
  savePreview(id: string, preview: StoredPreview): Promise<void>;
  /** Puts the use of approvals into the log of events. */
  announce(ids: readonly string[]): Promise<void>;
  /** Uses that no gateway announced within this many milliseconds. */
  unannounced(olderThan: number): Promise<readonly string[]>;
  /** Puts into the audit log what it lacks of the approval. */
  record(approval: Approval): Promise<void>;
  /** Does so for what a gateway that died did not record, for approvals that changed as many milliseconds ago. */
  recordLate(olderThan: number): Promise<void>;
  /** Ends open approvals: whose time is over, whose run has ended, those of the subject, and these. */
  expire(which: { readonly subject: string } | { readonly ids: readonly string[] } | { readonly limit: number }): Promise<void>;
  /** Ends every open approval in this transaction. `told`: to be called once the transaction is committed. */
  endAllIn(transaction: Transaction<Tables>): Promise<{ readonly change: RunsChange; readonly told: () => void }>;
  /** Deletes approvals that were over before this time. Answers how many. */
  forget(before: number, limit: number): Promise<number>;
  /** The key of the hashes of calls. */
  hashKey(): Promise<Buffer>;
}

interface ApprovalStoreOptions {
  readonly database: Database;
  readonly changeRuns: ChangeRuns;
  readonly clock: Clock;
  readonly key: ProofKey;
  readonly audit: Pick<AuditLog, 'prove'>;
  /** What the audit log has of an approval. */
  readonly proofs: (approval: string) => Promise<readonly ProvenFact[]>;
  /** Told of approvals that ended without a use, once the store has that. */
  readonly expired: (approvals: readonly Approval[]) => void;
  /** Told of a grant that counts no more, once the store has that. */
  readonly withdrawn: (approval: Approval, decision: ApprovalDecision) => void;
}

const lateAtOnce = 100;

export function createApprovalStore(options: ApprovalStoreOptions): ApprovalStore {
  const reading = { read: options.database.read, key: options.key };
  const record = recorder(options);
  return {
    ...readingOf(options),
    ...decidingOf(options, record),
    ...usesOf(options, record),
    ...batchUsesOf(options, record),
    record,
    async recordLate(olderThan) {
      const late = await unrecordedApprovals(reading, { before: options.clock.now() - olderThan, limit: lateAtOnce });
      for (const approval of late) await record(approval);
    },
  };
}

type RecordApproval = ApprovalStore['record'];

function readingOf({
  database,
  key,
  clock,
}: ApprovalStoreOptions): Pick<
  ApprovalStore,
  'read' | 'readFacts' | 'ofSubject' | 'list' | 'open' | 'openOf' | 'savePreview' | 'forget' | 'hashKey'
> {
  const { read, records } = database;
  const reading = { read, key };
  return {
    read: (id) => readApproval(reading, id),
    readFacts: (id) => readFacts(reading, id),
    ofSubject: (subject) => approvalsOfSubject(reading, subject),
    list: (filter, page) => listApprovals(reading, { filter, page, now: clock.now() }),
    open: (page) => readOpenApprovals(reading, page),
    openOf: (callers) => countOpen(database, callers),
    async savePreview(id, preview) {
      await records
        .updateTable('approval')
        .set({ preview: JSON.stringify(preview) })
        .where('id', '=', id)
        .execute();
    },
    async forget(before, limit) {
      const over = sql`select id from approval where not (status in ('waiting', 'granted')) and changed_at < ${before} and ${mayActOn('approval')} limit ${limit}`;
      return await records.transaction().execute(async (transaction) => {
        const { rows } = await sql<{ readonly id: string }>`delete from approval where id in (${over}) returning id`.execute(
          transaction,
        );
        const ids = rows.map(({ id }) => id);
        for (const table of ['approval_waiter', 'approval_use'] as const)
          if (ids.length > 0) await transaction.deleteFrom(table).where('approval', 'in', ids).execute();
        return ids.length;
      });
    },
    hashKey: once(() => hashKey(database)),
  };
}

function decidingOf(
  { database: { dialect }, changeRuns, clock, key, expired, withdrawn }: ApprovalStoreOptions,
  record: RecordApproval,
): Pick<ApprovalStore, 'create' | 'decide' | 'withdraw' | 'expire' | 'endAllIn'> {
  const decide = async (id: string, judge: Judge, at: number): Promise<Approval | undefined> => {
    const decided = await changeRuns((transaction) => decideIn({ transaction, key, at }, { id, judge, dialect }));
    if (decided !== undefined) await record(decided);
    return decided;
  };
  return {
    async create(made) {
      const { over, ...created } = await changeRuns((transaction) =>
        createIn({ transaction, key, at: clock.now() }, made, dialect),
      );
      expired(over);
      for (const approval of [...over, created.approval]) await record(approval);
      return created;
    },
    decide: (id, judge) => decide(id, judge, clock.now()),
    async withdraw({ id }, losses) {
      if (losses.size === 0) return;
      const at = clock.now();
      const after = await decide(id, (approval) => withdrawalFrom(approval, losses, at), at);
      const isNew = ({ proof, withdrawn: gone }: ApprovalDecision): boolean => gone?.at === at && losses.has(proof ?? '');
      for (const decision of after?.decisions.filter(isNew) ?? []) if (after) withdrawn(after, decision);
    },
    async expire(which) {
      const ended = await changeRuns((transaction) => expireIn({ transaction, key, at: clock.now() }, { which, dialect }));
      expired(ended);
      for (const approval of ended) await record(approval);
    },
    async endAllIn(transaction) {
      const { result, ...change } = await expireIn({ transaction, key, at: clock.now() }, { which: 'all', dialect });
      return { change, told: () => expired(result) };
    },
  };
}

function usesOf(
  { database: { read }, changeRuns, clock, key, audit }: ApprovalStoreOptions,
  record: RecordApproval,
): Pick<ApprovalStore, 'use' | 'useIn' | 'release' | 'announce' | 'unannounced'> {
  const use: ApprovalStore['useIn'] = (transaction, of) => useIn(transaction, { ...of, now: clock.now() });
  return {
    async use(of) {
      const isUsed = await changeRuns(async (transaction) => ({ result: await use(transaction, of) }));
      const used = isUsed && of.isUnrecorded ? await readFacts({ read, key }, of.id) : undefined;
      if (used !== undefined) await record(used);
      return isUsed;
    },
    useIn: use,
    async release(id, of) {
      const mac = proofOf(releaseText(id, of), key);
      await audit.prove([{ approval: id, of: 'released', use: of, mac, event: `granted/${of}` }]);
      await changeRuns((transaction) => releaseIn({ transaction, key, at: clock.now() }, { id, use: of }));
    },
    announce: (ids) => changeRuns((transaction) => announceIn({ transaction, key }, ids)),
    async unannounced(olderThan) {
      const rows = await read
        .selectFrom('approval')
        .select('id')
        .where('unannounced', '=', 1)
        .where(mayActOn('approval'))
        .where('changed_at', '<', clock.now() - olderThan)
        .limit(100)
        .execute();
      return rows.map(({ id }) => id);
    },
  };
}

function batchUsesOf(
  { database: { dialect, read }, changeRuns, clock, key, audit, proofs }: ApprovalStoreOptions,
  record: RecordApproval,
): Pick<ApprovalStore, 'beginBatch' | 'isItemUsed' | 'useForItemIn' | 'prove' | 'waitedFor' | 'releaseItem' | 'endUsed'> {
  return {
    async beginBatch({ id, holdsUntil }) {
      if (holdsUntil === undefined) await audit.prove([{ approval: id, of: 'begun' }]);
      await changeRuns(async (transaction) => {
        const begun = transaction.updateTable('approval').set({ holds_until: holdsUntil ?? clock.now() + batchHolds });
        await begun.where('id', '=', id).where('holds_until', 'is', null).execute();
        return { result: undefined };
      });
    },
    isItemUsed: async (use) => isItemUsed(use, await proofs(approvalOfItem(use)), key),
    useForItemIn: (transaction, use, id) =>
      useForItemIn(transaction, { use, text: textOfUse(use.use, id), now: clock.now(), dialect }),
    prove: (use) => audit.prove([use]),
    async waitedFor({ run, activity }) {
      const rows = await read
        .selectFrom('approval_waiter')
        .select('approval')
        .where('run', '=', run)
        .where('activity', '=', activity)
        .execute();
      return rows.map(({ approval }) => approval);
    },
    async releaseItem(use) {
      const [approval, released] = [approvalOfItem(use), idOfItemUse(use)];
      await audit.prove([{ approval, of: 'released', use: released, mac: proofOf(releaseText(approval, released), key) }]);
      await changeRuns(async (transaction) => ({ result: await releaseItemIn(transaction, use) }));
    },
    async endUsed(limit) {
      const ended = await changeRuns((transaction) => endUsedIn(transaction, { at: clock.now(), limit, dialect }));
      for (const id of ended) {
        const approval = await readFacts({ read, key }, id);
        if (approval !== undefined) await record(approval);
      }
    },
  };
}

/** Puts into the audit log what it lacks of an approval. */
function recorder({ database: { records }, key, audit, proofs }: ApprovalStoreOptions): (approval: Approval) => Promise<void> {
  return async (approval) => {
    const { id, unrecorded } = approval;
    if (unrecorded === 0) return;
    const known = await proofs(id);
    await audit.prove(factsOfApproval(approval, key).filter((fact) => !known.some((one) => isSameFact(one, fact))));
    await records
      .updateTable('approval')
      .set({ unrecorded: 0 })
      .where('id', '=', id)
      .where('unrecorded', '=', unrecorded)
      .execute();
  };
}

/** Keeps the first result. After a failure it tries again. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    result ??= work().catch((error: unknown) => {
      result = undefined;
      throw error;
    });
    return result;
  };
}
