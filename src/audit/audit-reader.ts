import type { Clock } from '#base/clock.ts';
import { pageBytes } from '#base/visible-page.ts';
import type { Database } from '#database/database.ts';
import { type AuditFacts, type ChainedEntry, factsOf, storable } from './audit-entry.ts';
import { type AuditQuery, type RecordPosition, writeCursor } from './audit-query.ts';
import { createAuditReadingStore } from './audit-reading-store.ts';
import { type AuditVerdict, type VerificationOptions, type VerifyApprovals, verifyAudit } from './audit-verification.ts';
import { inProgressSince } from './calls-in-progress.ts';

/** What a record is about. Where an object has no name of its own, its `_id` is the name. */
interface RecordedObject {
  readonly _id: string;
  readonly name: string;
}

interface RecordedObjects {
  readonly automation?: RecordedObject | undefined;
  readonly workflow?: (RecordedObject & Omit<NonNullable<AuditFacts['workflow']>, 'id'>) | undefined;
  readonly form?: RecordedObject | undefined;
  readonly approval?: RecordedObject | undefined;
  /** It has the name of its automation. */
  readonly run?: RecordedObject | undefined;
}

/** One call or event as shown to readers: the intent and its outcome in one record. */
export interface AuditRecord
  extends Omit<AuditFacts, 'links' | 'proof' | 'approvalName' | 'workflow' | 'form' | 'approval' | 'run'>,
    RecordedObjects {
  /** `CHAIN/SEQ`, as in the output of `audit verify`. For one of several records in an entry, `CHAIN/SEQ.INDEX`. */
  readonly id: string;
  /** The time of recording: for a state-changing call before it left, for everything else when it ended. ISO 8601, UTC. */
  readonly time: string;
}

interface AuditPage {
  /** A record without an outcome is an event or a call in progress. */
  readonly list: readonly AuditRecord[];
  /** The cursor of the next page; undefined if there are no more records. */
  readonly cursor?: string;
  /** The page is shorter than its limit because of its bytes. */
  readonly isCut?: boolean;
}

export interface AuditReader {
  /**
   * Newest first by default. A page with a cursor may be shorter than its limit, because one request examines a limited number of
   * records.
   */
  list(query: AuditQuery, order?: Order): Promise<AuditPage>;
  /** Whether the log was tampered with. See verifyAudit. */
  verify(options: VerificationOptions): Promise<AuditVerdict>;
}

type Order = 'newest' | 'oldest';

/** How many entries are read at once, and how many records one request examines. */
const chunk = 250;
const examinedAtMost = 20_000;

/** A record with its position. */
interface Placed {
  readonly record: AuditRecord;
  readonly position: RecordPosition;
}

export function createAuditReader(options: {
  readonly database: Database;
  readonly clock: Clock;
  /** Milliseconds: an upper limit for the duration of a call under the configuration in force. */
  readonly longestCall: () => number;
  /** Absent: a verification compares no approvals. */
  readonly verifyApprovals?: VerifyApprovals | undefined;
}): AuditReader {
  const { clock } = options;
  const store = createAuditReadingStore(options.database);
  /** The records of these entries, in order. The iterator makes each one when it is read. */
  const merged = async (entries: readonly ChainedEntry[], order: Order): Promise<Iterable<Placed>> => {
    // Read before the outcomes: a gateway that ends meanwhile has written its outcomes by then.
    const alive = await store.aliveAt(clock.now());
    const parts = await store.partsOf(entries.filter(({ kind }) => kind === 'intent'));
    return Iterator.from(entries).flatMap((entry): readonly Placed[] => {
      if (entry.kind === 'records') return recordsOf(entry, order);
      const later = parts.get(`${entry.chain}/${entry.call}`) ?? [];
      const mayBeInProgress = alive.has(entry.chain) && entry.at > inProgressSince(options);
      return [{ record: recordOf(entry, entry.kind === 'intent' ? later : [], mayBeInProgress), position: entry }];
    });
  };
  return {
    verify: (verification) => verifyAudit(options.database, { approvals: options.verifyApprovals, ...verification }),
    async list(query, order = 'newest') {
      const { list, add } = gathered();
      let { after } = query;
      for (let examined = 0; examined < examinedAtMost; ) {
        const { entries, last } = await store.entries(
          { ...query, ...(after === undefined ? {} : { after }) },
          { order, examine: entriesFor(query) },
        );
        let records = 0;
        for (const { record, position } of await merged(entries, order)) {
          if (wasShown(position, after, order)) continue;
          if (list.length === query.limit) return pageOf(list, after);
          if (matches(record, query) && !add(record)) return { ...pageOf(list, after), isCut: true };
          after = position;
          records += 1;
        }
        if (last === undefined) return pageOf(list, undefined);
        after = last;
        examined += Math.max(chunk, records);
      }
      return pageOf(list, after);
    },
  };
}

/** The records of a page; `add` takes none that makes it too long. */
function gathered(): { readonly list: readonly AuditRecord[]; readonly add: (record: AuditRecord) => boolean } {
  const list: AuditRecord[] = [];
  let bytes = 0;
  return {
    list,
    add(record) {
      bytes += Buffer.byteLength(JSON.stringify(record));
      if (list.length > 0 && bytes > pageBytes) return false;
      list.push(record);
      return true;
    },
  };
}

function pageOf(list: readonly AuditRecord[], after: RecordPosition | undefined): AuditPage {
  return after === undefined ? { list } : { list, cursor: writeCursor(after) };
}

/** True if the previous page already had this record, because that page ended within this entry. */
function wasShown({ chain, seq, index }: RecordPosition, after: RecordPosition | undefined, order: Order): boolean {
  if (index === undefined || after?.index === undefined || seq !== after.seq || chain !== after.chain) return false;
  return order === 'newest' ? index >= after.index : index <= after.index;
}

/** How many entries to read at once. Without a filter, enough to fill the page and to find out whether there is a next one. */
function entriesFor({ principal, adapter, address, outcome, via, limit }: AuditQuery): number {
  const hasNoFilter = [principal, adapter, address, outcome, via].every((filter) => filter === undefined);
  return hasNoFilter ? Math.min(chunk, limit + 1) : chunk;
}

function matches(record: AuditRecord, { principal, adapter, address, outcome, via }: AuditQuery): boolean {
  return (
    (via === undefined || isOf(record, via)) &&
    (outcome === undefined || record.outcome === outcome) &&
    (address === undefined || textsOf(record).some((text) => text?.includes(address))) &&
    hasName(record.principal, principal) &&
    hasName(record.adapter, adapter)
  );
}

/** Where a reader looks for a device or a path. A change has the names of its objects; an approval has that of its call. */
function textsOf({ address, automation, workflow, form, approval, run }: AuditRecord): readonly (string | undefined)[] {
  return [address, ...[automation, workflow, form, approval, run].flatMap((one) => [one?._id, one?.name])];
}

function hasName(name: string | undefined, wanted: string | undefined): boolean {
  return wanted === undefined || storable(name) === storable(wanted);
}

/** Records of documents that a task needs, and of earlier versions, have no id. They are of any task at its place in the workflow. */
function isOf({ via }: AuditRecord, { run, task, id }: NonNullable<AuditQuery['via']>): boolean {
  if (via?.run !== run) return false;
  if (id === undefined) return true;
  return via.id === undefined ? via.task === task : via.id === id;
}

/** The records of an entry that holds several. */
function recordsOf(entry: ChainedEntry, order: Order): readonly Placed[] {
  const { chain, seq, at } = entry;
  const records = factsOf(entry).map((facts, place): Placed => {
    const index = place + 1;
    return { record: shownAs(`${chain}/${seq}.${index}`, at, facts), position: { at, chain, seq, index } };
  });
  return order === 'newest' ? records.toReversed() : records;
}

function recordOf(entry: ChainedEntry, later: readonly ChainedEntry[], mayBeInProgress: boolean): AuditRecord {
  const steps = later.filter(({ kind }) => kind === 'step').flatMap((step) => factsOf(step).map(({ address }) => address ?? ''));
  const outcomes = later.filter(({ kind }) => kind === 'outcome').flatMap(factsOf);
  const missing = entry.kind === 'intent' && outcomes.length === 0 && !mayBeInProgress;
  return {
    ...shownAs(`${entry.chain}/${entry.seq}`, entry.at, Object.assign({}, ...factsOf(entry), ...outcomes) as AuditFacts),
    ...(steps.length === 0 ? {} : { redirects: steps }),
    ...(missing ? { outcome: 'unknown' } : {}),
  };
}

function shownAs(id: string, at: number, { links: _links, proof: _proof, ...facts }: AuditFacts): AuditRecord {
  const { approvalName, workflow, form, approval, run, ...shown } = facts;
  return {
    id,
    time: new Date(at).toISOString(),
    ...shown,
    ...objectsOf({ approvalName, workflow, form, approval, run, ...shown }),
  };
}

function objectsOf({ automation, workflow, form, approval, approvalName, run, verb, address }: Omit<AuditFacts, 'event'>) {
  return {
    ...(workflow && {
      workflow: { _id: workflow.id, name: workflow.id, version: workflow.version, tombstone: workflow.tombstone },
    }),
    ...(form && { form: { _id: form.id, name: form.id } }),
    ...(approval !== undefined && { approval: { _id: approval, name: approvalName ?? callName(verb, address) ?? approval } }),
    ...(run !== undefined && { run: { _id: run, name: automation?.name ?? run } }),
  } satisfies RecordedObjects;
}

function callName(verb: string | undefined, address = ''): string | undefined {
  return verb === undefined ? undefined : `${verb} ${address}`;
}
