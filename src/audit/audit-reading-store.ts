import { type RawBuilder, sql } from 'kysely';
import type { Database } from '#database/database.ts';
import type { ChainedEntry } from './audit-entry.ts';
import { type AuditQuery, placeOfRecord, type RecordPosition } from './audit-query.ts';
import { type Term, termOf } from './search/audit-terms.ts';

/** A part of the log that was read. */
interface ExaminedEntries {
  /** The entries that may match the query. Each record of them has to be asked: an entry may hold several, and a text may be elsewhere in it. */
  readonly entries: readonly ChainedEntry[];
  /** Where the part ends. Undefined at the end of the log. */
  readonly last: RecordPosition | undefined;
  /** How many entries were looked at, about. */
  readonly examined: number;
}

/** The queries that reading the log needs. */
interface AuditReadingStore {
  /** Reads up to `most` entries, for a call only its intent. */
  entries(query: AuditQuery, page: { readonly order: Order; readonly most: number }): Promise<ExaminedEntries>;
  /** The steps and outcomes of the calls, in the order of writing. The key is `CHAIN/CALL`. */
  partsOf(intents: readonly ChainedEntry[]): Promise<ReadonlyMap<string, readonly ChainedEntry[]>>;
  /** The chains that have no end, and count as alive at this time. */
  aliveAt(time: number): Promise<ReadonlySet<string>>;
}

type Order = 'newest' | 'oldest';

/** How many entries one statement looks at where not all of them match, and up to how many it counts to find the rarest term. */
const scanned = 16_250;
const counted = 2_000;

/** The chains that have not ended and that counted as alive at this time or later, with until when. */
export async function chainsAlive({ read }: Pick<Database, 'read'>, since: number): Promise<ReadonlyMap<string, number>> {
  const rows = await read
    .selectFrom('audit_chain')
    .select(['chain', 'alive_until'])
    .where('ended_at', 'is', null)
    .where('alive_until', '>=', since)
    .execute();
  return new Map(rows.map(({ chain, alive_until: until }) => [chain, until]));
}

export function createAuditReadingStore({ read, dialect }: Database): AuditReadingStore {
  return {
    async entries(query, { order, most }) {
      const { places, entry, join, indexed, selective } = await sourceOf(read, query, order);
      const texts = textsOf(query);
      const ordered = order === 'newest' ? sql`order by p.at desc, p.chain desc, p.seq desc` : sql`order by p.at, p.chain, p.seq`;
      // Where few entries match, a statement without an end would look at the whole log.
      const part = sql`from ${places} where ${all(indexed)} ${ordered} limit 1 offset ${scanned - 1}`;
      const end = selective.length + texts.length === 0 ? undefined : await firstPlace(read, part);
      const within = upTo(end, order);
      const later = sql`select chain, seq from audit_term p where term = ${termOf.laterText} and ${all([...rangeOf(query, order), ...within])}`;
      const others = [...selective, ...texts.map((text) => conditionOn(text, { dialect, entry, later }))];
      const { rows } = await sql<ChainedEntry>`select ${columnsOf(entry)} from ${places} ${join}
        where ${all([...indexed, ...within, ...others])} ${ordered} limit ${most}`.execute(read);
      const isFull = rows.length === most;
      return {
        entries: rows,
        last: isFull ? rows.at(-1) : end,
        examined: isFull || end === undefined ? rows.length : scanned,
      };
    },
    async partsOf(intents) {
      const parts = new Map<string, ChainedEntry[]>();
      for (const chain of new Set(intents.map((intent) => intent.chain))) {
        const calls = intents.filter((intent) => intent.chain === chain).map(({ call }) => call);
        const { rows } = await sql<ChainedEntry>`select * from audit_entry where chain = ${chain} and call in (${sql.join(calls)})
          and kind in ('step', 'outcome') order by call, seq`.execute(read);
        for (const row of rows) {
          const name = `${chain}/${row.call}`;
          parts.set(name, [...(parts.get(name) ?? []), row]);
        }
      }
      return parts;
    },
    aliveAt: async (time) => new Set((await chainsAlive({ read }, time)).keys()),
  };
}

async function firstPlace(read: Database['read'], part: RawBuilder<unknown>): Promise<RecordPosition | undefined> {
  return (await sql<RecordPosition>`select p.at, p.chain, p.seq ${part}`.execute(read)).rows[0];
}

function all(conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql.join(conditions.length === 0 ? [sql`1 = 1`] : conditions, sql` and `);
}

function upTo(end: RecordPosition | undefined, order: Order): readonly RawBuilder<unknown>[] {
  if (end === undefined) return [];
  const within = order === 'newest' ? sql`>=` : sql`<=`;
  return [sql`(p.at, p.chain, p.seq) ${within} (${end.at}, ${end.chain}, ${end.seq})`];
}

type Alias = 'e' | 'p';

const columnNames = ['chain', 'seq', 'kind', 'call', 'at', 'total', 'principal', 'adapter', 'approval', 'mac', 'facts'] as const;

function columnsOf(entry: Alias): RawBuilder<unknown> {
  return sql.join(columnNames.map((name) => sql.ref(`${entry}.${name}`)));
}

/** Where entries are looked for: `p` is in the order of the log. */
interface Source {
  readonly places: RawBuilder<unknown>;
  /** What has the columns of the entry, and how it is reached. */
  readonly entry: Alias;
  readonly join: RawBuilder<unknown>;
  /** Conditions that an index of `places` fulfils. */
  readonly indexed: readonly RawBuilder<unknown>[];
  /** What not all of these entries fulfil. */
  readonly selective: readonly RawBuilder<unknown>[];
}

async function sourceOf(read: Database['read'], query: AuditQuery, order: Order): Promise<Source> {
  const range = rangeOf(query, order);
  const [rarest, ...others] = await byRarity(read, askedTerms(query), range);
  if (rarest === undefined) {
    // The index has the first condition.
    const indexed = [sql`p.kind not in ('step', 'outcome')`, sql`p.kind <> 'proof'`, ...range];
    return { places: sql`audit_entry p`, entry: 'p', join: sql``, indexed, selective: [] };
  }
  return {
    places: sql`${placesOf(rarest)} p`,
    entry: 'e',
    join: sql`join audit_entry e on e.chain = p.chain and e.seq = p.seq`,
    indexed: range,
    selective: others.map(
      (each) => sql`exists (select 1 from ${placesOf(each)} o where o.at = p.at and o.chain = p.chain and o.seq = p.seq)`,
    ),
  };
}

function rangeOf({ id, from, to, after }: AuditQuery, order: Order): readonly RawBuilder<unknown>[] {
  const range = [];
  if (id !== undefined) {
    const { chain, seq } = placeOfRecord(id);
    range.push(sql`p.chain = ${chain}`, sql`p.seq = ${seq}`);
  }
  if (from !== undefined) range.push(sql`p.at >= ${from}`);
  if (to !== undefined) range.push(sql`p.at <= ${to}`);
  if (after !== undefined) {
    const { at, chain, seq, index } = after;
    const beyond = order === 'newest' ? sql`<` : sql`>`;
    // The rest of an entry that was shown in part comes first.
    range.push(sql`(p.at, p.chain, p.seq) ${beyond}${index === undefined ? sql`` : sql`=`} (${at}, ${chain}, ${seq})`);
  }
  return range;
}

/** What the query asks for that has an index. */
function askedTerms({ principal, adapter, object, device, outcome }: AuditQuery): readonly Term[] {
  return [
    ...(device === undefined ? [] : [termOf.device(device)]),
    ...(object === undefined ? [] : [termOf.object(object)]),
    ...(principal === undefined ? [] : [termOf.principal(principal)]),
    ...(adapter === undefined ? [] : [termOf.adapter(adapter)]),
    ...(outcome === undefined ? [] : [termOf.outcome(outcome)]),
  ];
}

function placesOf(term: Term): RawBuilder<unknown> {
  const places = sql`select at, chain, seq from audit_term where term = ${term}`;
  // Of a call without an outcome on record, it may be unknown.
  return term === termOf.outcome('unknown') ? sql`(${places} union all select at, chain, seq from audit_open)` : sql`(${places})`;
}

async function byRarity(
  read: Database['read'],
  terms: readonly Term[],
  range: readonly RawBuilder<unknown>[],
): Promise<readonly Term[]> {
  if (terms.length < 2) return terms;
  const counts = await Promise.all(
    terms.map(async (term) => {
      const some = sql`select 1 as one from ${placesOf(term)} p where ${all(range)} limit ${counted}`;
      const { rows } = await sql<{ readonly count: number }>`select count(*) as count from (${some}) as counted`.execute(read);
      return { term, count: rows[0]?.count ?? 0 };
    }),
  );
  return counts.toSorted((one, other) => one.count - other.count).map(({ term }) => term);
}

/** A text that the query looks for within a record. */
interface SoughtText {
  readonly text: string;
  /** It may be in the outcome of a call. */
  readonly mayBeLater: boolean;
}

function textsOf({ address, search, via }: AuditQuery): readonly SoughtText[] {
  const sought = [address, search].flatMap((text) => (text === undefined ? [] : [{ text, mayBeLater: true }]));
  return via === undefined ? sought : [...sought, { text: via.run, mayBeLater: false }];
}

/** The text is in the JSON of the facts, as JSON.stringify writes it. `later`: places of calls whose outcome has texts. */
function conditionOn(
  { text, mayBeLater }: SoughtText,
  {
    dialect,
    entry,
    later,
  }: { readonly dialect: Database['dialect']; readonly entry: Alias; readonly later: RawBuilder<unknown> },
): RawBuilder<unknown> {
  const facts = sql.ref(`${entry}.facts`);
  const has = (part: string): RawBuilder<unknown> =>
    dialect === 'sqlite' ? sql`instr(${facts}, ${part}) > 0` : sql`strpos(${facts}, ${part}) > 0`;
  const written = JSON.stringify(text);
  if (!mayBeLater) return has(written);
  const ways = [has(written.slice(1, -1))];
  // An approval is named by method and address, which are apart in the facts.
  if (text.includes(' ')) ways.push(has('"approval":'));
  ways.push(sql`(${sql.ref(`${entry}.chain`)}, ${sql.ref(`${entry}.seq`)}) in (${later})`);
  return sql`(${sql.join(ways, sql` or `)})`;
}
