import type { Clock } from '#base/clock.ts';
import { pageBytes } from '#base/visible-page.ts';
import type { Database } from '#database/database.ts';
import { type AuditFacts, type ChainedEntry, factsOf, storable } from './audit-entry.ts';
import { type AuditQuery, type RecordPosition, writeCursor } from './audit-query.ts';
import { createAuditReadingStore } from './audit-reading-store.ts';
import { readBody } from './bodies/kept-body-store.ts';
import { inProgressSince } from './calls-in-progress.ts';
import { type AuditVerdict, type VerificationOptions, type VerifyApprovals, verifyAudit } from './chain/audit-verification.ts';
import { type AuditRecord, shownAs } from './search/audit-record.ts';

interface AuditPage {
  /** A record without an outcome is an event or a call in progress. */
  readonly list: readonly AuditRecord[];
  /** The cursor of the next page; undefined if there are no more records. */
  readonly cursor?: string;
  /** The page is shorter than its limit because of its bytes. */
  readonly isCut?: boolean;
}

export type { AuditRecord };

export interface AuditReader {
  /**
   * Newest first by default. A page with a cursor may be shorter than its limit, because one request examines a limited number of
   * records.
   */
  list(query: AuditQuery, order?: Order): Promise<AuditPage>;
  /** What the change of a record sent. Undefined: there is no such record, it sent nothing, or its body is not kept. */
  body(id: string): Promise<SentText | undefined>;
  /** Whether the log was tampered with. See verifyAudit. */
  verify(options: VerificationOptions): Promise<AuditVerdict>;
}

/** `sha256`: of the whole text, in hexadecimal digits; `body` has its beginning where it is `truncated`. */
interface SentText {
  readonly body: string;
  readonly sha256: string;
  readonly truncated?: true;
}

type Order = 'newest' | 'oldest';

/** How many entries are read at once, and how many records one request examines: in the store alone, and read from it. */
const chunk = 250;
const maxExamined = 260_000;
const maxRead = 20_000;
/** Milliseconds after which a request examines no further part. */
const maxTime = 600;

interface Placed {
  readonly record: AuditRecord;
  readonly position: RecordPosition;
}

export function createAuditReader(options: {
  readonly database: Database;
  readonly clock: Clock;
  /** Milliseconds: an upper limit for the duration of a call under the configuration in force. */
  readonly maxCallDuration: () => number;
  /** Absent: a verification compares no approvals. */
  readonly verifyApprovals?: VerifyApprovals | undefined;
  /** False: each chain without an end counts as alive. */
  readonly isSteady?: () => boolean;
}): AuditReader {
  const { clock, isSteady = () => true } = options;
  const store = createAuditReadingStore(options.database);
  /** The records of these entries, in order. The iterator makes each one when it is read. */
  const merged = async (entries: readonly ChainedEntry[], order: Order): Promise<Iterable<Placed>> => {
    // Read before the outcomes: a gateway that ends meanwhile has written its outcomes by then.
    const alive = await store.aliveAt(isSteady() ? clock.now() : 0);
    const parts = await store.partsOf(entries.filter(({ kind }) => kind === 'intent'));
    return Iterator.from(entries).flatMap((entry): readonly Placed[] => {
      if (entry.kind === 'records') return recordsOf(entry, order);
      const later = parts.get(`${entry.chain}/${entry.call}`) ?? [];
      const mayBeInProgress = alive.has(entry.chain) && entry.at > inProgressSince(options);
      return [{ record: recordOf(entry, entry.kind === 'intent' ? later : [], mayBeInProgress), position: entry }];
    });
  };
  return {
    async body(id) {
      const [, chain, seq] = /^([\w-]{1,64})[/_](\d{1,15})$/u.exec(id) ?? [];
      if (chain === undefined) return undefined;
      const found = await readBody(options.database, { chain, seq: Number(seq) });
      if (found === undefined) return undefined;
      const { bodySha256 = '' } = JSON.parse(found.facts) as AuditFacts;
      return { body: found.body, sha256: bodySha256, ...(found.isCut && { truncated: true }) };
    },
    verify: (verification) => verifyAudit(options.database, { approvals: options.verifyApprovals, ...verification }),
    async list(query, order = 'newest') {
      const { list, add } = gathered();
      let { after } = query;
      const mayGoOn = allowanceFrom(clock);
      for (let [passed, records] = [0, 0]; mayGoOn(passed, records); ) {
        const { entries, last, examined } = await store.entries({ ...query, after }, { order, most: entriesFor(query) });
        for (const { record, position } of await merged(entries, order)) {
          if (wasShown(position, after, order)) continue;
          if (list.length === query.limit) return pageOf(list, after);
          if (matches(record, query) && !add(record)) return { ...pageOf(list, after), isCut: true };
          after = position;
          records += 1;
        }
        if (last === undefined) return pageOf(list, undefined);
        after = last;
        passed += examined;
      }
      return pageOf(list, after);
    },
  };
}

/** Whether a request that begins now may examine more. */
function allowanceFrom(clock: Clock): (passed: number, records: number) => boolean {
  const began = clock.monotonic();
  return (passed, records) => passed < maxExamined && records < maxRead && clock.monotonic() - began < maxTime;
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
function entriesFor({ principal, adapter, object, device, address, search, outcome, via, limit }: AuditQuery): number {
  const filters = [principal, adapter, object, device, address, search, outcome, via];
  return filters.every((filter) => filter === undefined) ? Math.min(chunk, limit + 1) : chunk;
}

function matches(record: AuditRecord, query: AuditQuery): boolean {
  const { id, outcome, object, device, address, search, via, principal, adapter } = query;
  const objects = objectTexts(record);
  const { devices = [] } = record;
  const searched = [record.address, record.principal, record.detail, ...devices, ...objects];
  return (
    holds(id, (wanted) => record.id === wanted.replace('_', '/')) &&
    holds(via, (wanted) => isOf(record, wanted)) &&
    holds(outcome, (wanted) => record.outcome === wanted) &&
    holds(address, (wanted) => [record.address, ...objects].some((text) => text?.includes(wanted))) &&
    holds(search, (wanted) => searched.some((text) => text?.includes(wanted))) &&
    holds(object, (wanted) => objects.some((text) => hasName(text, wanted))) &&
    holds(device, (wanted) => devices.some((name) => hasName(name, wanted))) &&
    hasName(record.principal, principal) &&
    hasName(record.adapter, adapter)
  );
}

function holds<T>(wanted: T | undefined, test: (wanted: T) => boolean): boolean {
  return wanted === undefined || test(wanted);
}

function objectTexts({ automation, workflow, form, approval, run }: AuditRecord): readonly (string | undefined)[] {
  return [automation, workflow, form, approval, run].flatMap((one) => [one?._id, one?.name]);
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
