import { sql, type Transaction } from 'kysely';
import type { Clock } from '#base/clock.ts';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables.ts';
import type { ChangeRuns } from '#runs/run-changes.ts';
import type { Approval, StoredPreview } from './approval.ts';
import {
  announceIn,
  createIn,
  type DecidedApproval,
  decideIn,
  expireIn,
  type NewApproval,
  releaseIn,
  useIn,
} from './approval-changes-store.ts';
import {
  type ApprovalFilter,
  type ApprovalPlace,
  approvalsOfSubject,
  countOpen,
  hashKey,
  listApprovals,
  type OpenApprovals,
  readApproval,
  readFacts,
} from './approval-reading-store.ts';

/** The approvals. Any number of gateways work on one store. Every method rejects with `store-unavailable`. */
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
    page: { readonly limit: number; readonly after?: ApprovalPlace | undefined },
  ): Promise<readonly Approval[]>;
  /** The open approvals that the principal has asked for: how many, and the bytes of their bodies. */
  openOf(caller: string): Promise<OpenApprovals>;
  /**
   * Decides while no other gateway can. `judge` throws where it may not be, and answers undefined where nothing changes. Undefined: there is
   * no such approval.
   */
  decide(id: string, judge: (approval: Approval) => DecidedApproval | undefined): Promise<Approval | undefined>;
  /** Uses a granted approval up, in a transaction of its own or in this one. False where it cannot be used any more. `by`: see `newUse`. */
  use(id: string, by: string): Promise<boolean>;
  useIn(transaction: Transaction<Tables>, id: string, by: string): Promise<boolean>;
  /** The request of this use sent nothing: it can be used again. */
  release(id: string, by: string): Promise<void>;
  savePreview(id: string, preview: StoredPreview): Promise<void>;
  /** Puts the use of approvals into the log of events. */
  announce(ids: readonly string[]): Promise<void>;
  /** Uses that no gateway announced within this many milliseconds. */
  unannounced(olderThan: number): Promise<readonly string[]>;
  /** Ends open approvals: whose time is over, whose run has ended, and those of the subject. */
  expire(which: { readonly subject: string } | { readonly limit: number }): Promise<void>;
  /** Deletes approvals that were over before this time. Answers how many. */
  forget(before: number, limit: number): Promise<number>;
  /** The key of the hashes of calls. */
  key(): Promise<Buffer>;
}

interface ApprovalStoreOptions {
  readonly database: Database;
  readonly changeRuns: ChangeRuns;
  readonly clock: Clock;
  /** Told of approvals that ended without a use, once the store has that. */
  readonly expired: (approvals: readonly Approval[]) => void;
}

export function createApprovalStore({ database, changeRuns, clock, expired }: ApprovalStoreOptions): ApprovalStore {
  const { dialect, read, records } = database;
  const keyOfHashes = once(() => hashKey(database));
  const use: ApprovalStore['useIn'] = (transaction, id, by) => useIn(transaction, { id, by, now: clock.now() });
  return {
    async create(made) {
      const { over, ...created } = await changeRuns((transaction) => createIn(transaction, made, clock.now()));
      expired(over);
      return created;
    },
    read: (id) => readApproval(database, id),
    readFacts: (id) => readFacts(database, id),
    ofSubject: (subject) => approvalsOfSubject(database, subject),
    list: (filter, page) => listApprovals(database, { filter, page, now: clock.now() }),
    openOf: (caller) => countOpen(database, caller),
    decide: (id, judge) => changeRuns((transaction) => decideIn(transaction, { id, judge, dialect, at: clock.now() })),
    use: (id, by) => changeRuns(async (transaction) => ({ result: await use(transaction, id, by) })),
    useIn: use,
    release: (id, by) => changeRuns((transaction) => releaseIn(transaction, { id, by, at: clock.now() })),
    async savePreview(id, preview) {
      await records
        .updateTable('approval')
        .set({ preview: JSON.stringify(preview) })
        .where('id', '=', id)
        .execute();
    },
    announce: (ids) => changeRuns((transaction) => announceIn(transaction, ids)),
    async unannounced(olderThan) {
      const rows = await read
        .selectFrom('approval')
        .select('id')
        .where('unannounced', '=', 1)
        .where('changed_at', '<', clock.now() - olderThan)
        .limit(100)
        .execute();
      return rows.map(({ id }) => id);
    },
    async expire(which) {
      expired(await changeRuns((transaction) => expireIn(transaction, { which, dialect, now: clock.now() })));
    },
    async forget(before, limit) {
      const over = sql`select id from approval where not (status in ('waiting', 'granted')) and changed_at < ${before} limit ${limit}`;
      const { numAffectedRows = 0n } = await sql`delete from approval where id in (${over})`.execute(records);
      return Number(numAffectedRows);
    },
    key: keyOfHashes,
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
