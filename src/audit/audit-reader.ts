import type { Clock } from '#base/clock.ts';
import type { Database } from '#database/database.ts';
import { type AuditFacts, type ChainedEntry, factsOf, storable } from './audit-entry.ts';
import { type AuditQuery, type RecordPosition, writeCursor } from './audit-query.ts';
import { createAuditReadingStore } from './audit-reading-store.ts';
import { underWaySince } from './under-way.ts';

/** One call or event, as it is shown: what was written ahead and what came of it in one. */
export interface AuditRecord extends Omit<AuditFacts, 'links'> {
  /** `CHAIN/SEQ`, as `audit verify` names it; of records that were written as one `CHAIN/SEQ.INDEX`. */
  readonly id: string;
  /** When it was put on record: of a state-changing call before it left, of anything else once it was over. ISO 8601, UTC. */
  readonly time: string;
}

interface AuditPage {
  /** Without an outcome are events, and calls that are under way. */
  readonly list: readonly AuditRecord[];
  /** Where to go on; absent where there is no more. */
  readonly cursor?: string;
}

export interface AuditReader {
  /** Newest first, or oldest first. A page may be shorter than its limit and have a cursor: one request looks at so many records only. */
  list(query: AuditQuery, order?: Order): Promise<AuditPage>;
}

type Order = 'newest' | 'oldest';

/** Entries that are read at a time, and records that a request looks at. */
const chunk = 250;
const lookedAt = 20_000;

/** A record and where it stands. */
interface Placed {
  readonly record: AuditRecord;
  readonly position: RecordPosition;
}

export function createAuditReader(options: {
  readonly database: Database;
  readonly clock: Clock;
  /** Milliseconds that no call takes longer than, as configured by now. */
  readonly longestCall: () => number;
}): AuditReader {
  const { clock } = options;
  const store = createAuditReadingStore(options.database);
  /** What is shown of these entries, in their order, made as it is taken. */
  const merged = async (entries: readonly ChainedEntry[], order: Order): Promise<Iterable<Placed>> => {
    // Before the outcomes are read: a gateway that ends meanwhile has written them by then.
    const alive = await store.aliveAt(clock.now());
    const parts = await store.partsOf(entries.filter(({ kind }) => kind === 'intent'));
    return Iterator.from(entries).flatMap((entry): readonly Placed[] => {
      if (entry.kind === 'records') return recordsOf(entry, order);
      const later = parts.get(`${entry.chain}/${entry.call}`) ?? [];
      const mayBeUnderWay = alive.has(entry.chain) && entry.at > underWaySince(options);
      return [{ record: recordOf(entry, entry.kind === 'intent' ? later : [], mayBeUnderWay), position: entry }];
    });
  };
  return {
    async list(query, order = 'newest') {
      const list: AuditRecord[] = [];
      let { after } = query;
      for (let looked = 0; looked < lookedAt; ) {
        const { entries, last } = await store.entries(
          { ...query, ...(after === undefined ? {} : { after }) },
          { order, lookAt: entriesFor(query) },
        );
        let records = 0;
        for (const { record, position } of await merged(entries, order)) {
          if (isShown(position, after, order)) continue;
          if (list.length === query.limit) return pageOf(list, after);
          if (isAskedFor(record, query)) list.push(record);
          after = position;
          records += 1;
        }
        if (last === undefined) return pageOf(list, undefined);
        after = last;
        looked += Math.max(chunk, records);
      }
      return pageOf(list, after);
    },
  };
}

function pageOf(list: readonly AuditRecord[], after: RecordPosition | undefined): AuditPage {
  return after === undefined ? { list } : { list, cursor: writeCursor(after) };
}

/** True where the page before ended within this entry, with this record or one behind it. */
function isShown({ chain, seq, index }: RecordPosition, after: RecordPosition | undefined, order: Order): boolean {
  if (index === undefined || after?.index === undefined || seq !== after.seq || chain !== after.chain) return false;
  return order === 'newest' ? index >= after.index : index <= after.index;
}

/** Entries to read at a time: where all of them are asked for, no more than fill the page and show whether there is another. */
function entriesFor({ principal, adapter, outcome, limit }: AuditQuery): number {
  const areAllAskedFor = principal === undefined && adapter === undefined && outcome === undefined;
  return areAllAskedFor ? Math.min(chunk, limit + 1) : chunk;
}

function isAskedFor(record: AuditRecord, { principal, adapter, outcome }: AuditQuery): boolean {
  return (
    (outcome === undefined || record.outcome === outcome) &&
    (principal === undefined || storable(record.principal) === storable(principal)) &&
    (adapter === undefined || storable(record.adapter) === storable(adapter))
  );
}

/** Those of an entry that holds several. */
function recordsOf(entry: ChainedEntry, order: Order): readonly Placed[] {
  const { chain, seq, at } = entry;
  const records = factsOf(entry).map((facts, place): Placed => {
    const index = place + 1;
    return { record: shownAs(`${chain}/${seq}.${index}`, at, facts), position: { at, chain, seq, index } };
  });
  return order === 'newest' ? records.toReversed() : records;
}

function recordOf(entry: ChainedEntry, later: readonly ChainedEntry[], mayBeUnderWay: boolean): AuditRecord {
  const steps = later.filter(({ kind }) => kind === 'step').flatMap((step) => factsOf(step).map(({ address }) => address ?? ''));
  const outcomes = later.filter(({ kind }) => kind === 'outcome').flatMap(factsOf);
  const missing = entry.kind === 'intent' && outcomes.length === 0 && !mayBeUnderWay;
  return {
    ...shownAs(`${entry.chain}/${entry.seq}`, entry.at, Object.assign({}, ...factsOf(entry), ...outcomes) as AuditFacts),
    ...(steps.length === 0 ? {} : { redirects: steps }),
    ...(missing ? { outcome: 'unknown' } : {}),
  };
}

function shownAs(id: string, at: number, { links: _links, ...facts }: AuditFacts): AuditRecord {
  return { id, time: new Date(at).toISOString(), ...facts };
}
