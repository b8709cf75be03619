import type { Clock } from '#base/clock.ts';
import type { Database } from '#database/database.ts';
import type { AuditFacts, ChainedEntry } from './audit-entry.ts';
import { type AuditQuery, type RecordPosition, writeCursor } from './audit-query.ts';
import { createAuditReadingStore } from './audit-reading-store.ts';
import { underWaySince } from './under-way.ts';

/** One call or event, as it is shown: what was written ahead and what came of it in one. */
export interface AuditRecord extends Omit<AuditFacts, 'links'> {
  /** `CHAIN/SEQ`, as `audit verify` names it. */
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
  list(query: AuditQuery, order?: 'newest' | 'oldest'): Promise<AuditPage>;
}

/** Records that a request looks at, at a time and altogether. */
const chunk = 1_000;
const lookedAt = 20_000;

export function createAuditReader(options: {
  readonly database: Database;
  readonly clock: Clock;
  /** Milliseconds that no call takes longer than, as configured by now. */
  readonly longestCall: () => number;
}): AuditReader {
  const { clock } = options;
  const store = createAuditReadingStore(options.database);
  /** What is shown of these entries, in their order. */
  const merged = async (entries: readonly ChainedEntry[]): Promise<readonly AuditRecord[]> => {
    // Before the outcomes are read: a gateway that ends meanwhile has written them by then.
    const alive = await store.aliveAt(clock.now());
    const parts = await store.partsOf(entries.filter(({ kind }) => kind === 'intent'));
    return entries.map((entry) => {
      const later = parts.get(`${entry.chain}/${entry.call}`) ?? [];
      const mayBeUnderWay = alive.has(entry.chain) && entry.at > underWaySince(options);
      return recordOf(entry, entry.kind === 'intent' ? later : [], mayBeUnderWay);
    });
  };
  return {
    async list(query, order = 'newest') {
      const list: AuditRecord[] = [];
      let { after } = query;
      for (let looked = 0; looked < lookedAt; looked += chunk) {
        const { entries, last } = await store.entries(
          { ...query, ...(after === undefined ? {} : { after }) },
          { order, lookAt: chunk },
        );
        const found = take(await merged(entries), query, list);
        if (found.full) {
          const shown = entries[found.looked - 1];
          return pageOf(list, found.looked < entries.length || last !== undefined ? shown : undefined);
        }
        if (last === undefined) return pageOf(list, undefined);
        after = last;
      }
      return pageOf(list, after);
    },
  };
}

function pageOf(list: readonly AuditRecord[], after: RecordPosition | undefined): AuditPage {
  return after === undefined ? { list } : { list, cursor: writeCursor(after) };
}

/** Adds what is asked for to `list`, up to its limit. */
function take(
  records: readonly AuditRecord[],
  { outcome, limit }: AuditQuery,
  list: AuditRecord[],
): { readonly looked: number; readonly full: boolean } {
  let looked = 0;
  for (const record of records) {
    looked += 1;
    if (outcome === undefined || record.outcome === outcome) list.push(record);
    if (list.length === limit) return { looked, full: true };
  }
  return { looked, full: false };
}

function recordOf(entry: ChainedEntry, later: readonly ChainedEntry[], mayBeUnderWay: boolean): AuditRecord {
  const facts = JSON.parse(entry.facts) as AuditFacts;
  const steps = later.filter(({ kind }) => kind === 'step').map(({ facts }) => (JSON.parse(facts) as AuditFacts).address ?? '');
  const outcomes = later.filter(({ kind }) => kind === 'outcome').map((outcome) => JSON.parse(outcome.facts) as AuditFacts);
  const missing = entry.kind === 'intent' && outcomes.length === 0 && !mayBeUnderWay;
  const { links: _links, ...shown } = Object.assign({}, facts, ...outcomes) as AuditFacts;
  return {
    id: `${entry.chain}/${entry.seq}`,
    time: new Date(entry.at).toISOString(),
    ...shown,
    ...(steps.length === 0 ? {} : { redirects: steps }),
    ...(missing ? { outcome: 'unknown' } : {}),
  };
}
