import { sql, type Transaction } from 'kysely';
import type { Migration } from '../migration.ts';
import type { Tables } from '../tables/tables.ts';

/** Entries that one statement reads. */
const chunk = 2_000;
/** Rows that one statement writes. */
const insertedAtOnce = 500;

/**
 * What finds entries of the audit log: a term such as `p:NAME` of a principal, with the place of the entry. For an outcome the place is that of
 * its intent. `audit_open` has the intents without an outcome: it stays small, so that PostgreSQL cleans it often. Entries of before get their
 * terms here.
 */
export const auditTerms: Migration = {
  number: 63,
  name: 'audit-terms',
  part: 'records',
  async up(transaction, dialect) {
    const packed = dialect === 'sqlite' ? sql`without rowid` : sql``;
    await sql`create table audit_term (term text not null, at bigint not null, chain text not null, seq bigint not null,
      primary key (term, at, chain, seq)) ${packed}`.execute(transaction);
    await sql`create table audit_open (at bigint not null, chain text not null, seq bigint not null,
      primary key (chain, seq)) ${packed}`.execute(transaction);
    const { rows } = await sql<{ readonly chain: string }>`select chain from audit_chain`.execute(transaction);
    for (const { chain } of rows) await findChain(transaction, chain);
  },
};

interface Entry {
  readonly seq: number;
  readonly kind: string;
  readonly call: number;
  readonly at: number;
  readonly facts: string;
}

type Row = readonly [term: string, at: number, chain: string, seq: number];

async function findChain(transaction: Transaction<Tables>, chain: string): Promise<void> {
  const places = new Places();
  for (let last = 0; ; ) {
    const { rows } = await sql<Entry>`select seq, kind, call, at, facts from audit_entry where chain = ${chain} and seq > ${last}
      and kind not in ('step', 'proof') order by seq limit ${chunk}`.execute(transaction);
    await insertTerms(
      transaction,
      rows.flatMap((entry) => rowsOf(entry, chain, places.of(entry))),
    );
    last = rows.at(-1)?.seq ?? last;
    if (rows.length < chunk) break;
  }
  for (const [at, seq] of places.open()) await transaction.insertInto('audit_open').values({ at, chain, seq }).execute();
}

/** Where the entries of calls are found: at their intents. */
class Places {
  readonly #intents = new Map<number, readonly [at: number, seq: number]>();
  readonly #ended = new Set<number>();

  of({ kind, call, at, seq }: Entry): readonly [at: number, seq: number] | undefined {
    if (kind === 'intent') this.#intents.set(call, [at, seq]);
    if (kind !== 'outcome') return [at, seq];
    this.#ended.add(call);
    return this.#intents.get(call);
  }

  open(): readonly (readonly [at: number, seq: number])[] {
    return [...this.#intents].filter(([call]) => !this.#ended.has(call)).map(([, place]) => place);
  }
}

function rowsOf({ kind, facts }: Entry, chain: string, place: readonly [at: number, seq: number] | undefined): readonly Row[] {
  if (place === undefined) return [];
  const [at, seq] = place;
  const records = [JSON.parse(facts) as Facts | readonly Facts[]].flat() as readonly Facts[];
  const terms = new Set(records.flatMap(termsOf));
  if (kind === 'outcome' && records.some(({ detail }) => detail !== undefined)) terms.add('t:detail');
  return [...terms].map((term) => [term, at, chain, seq]);
}

async function insertTerms(transaction: Transaction<Tables>, terms: readonly Row[]): Promise<void> {
  for (let first = 0; first < terms.length; first += insertedAtOnce) {
    const rows = terms.slice(first, first + insertedAtOnce).map(([term, at, chain, seq]) => ({ term, at, chain, seq }));
    await transaction
      .insertInto('audit_term')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

interface Facts {
  readonly principal?: string;
  readonly adapter?: string;
  readonly verb?: string;
  readonly address?: string;
  readonly outcome?: string;
  readonly automation?: { readonly _id: string; readonly name: string };
  readonly workflow?: { readonly id: string };
  readonly form?: { readonly id: string };
  readonly approval?: string;
  readonly approvalName?: string;
  readonly run?: string;
  readonly detail?: string;
}

/** As the audit log made terms when this migration was written. */
function termsOf({
  principal,
  adapter,
  verb,
  address = '',
  outcome,
  automation,
  workflow,
  form,
  approval,
  ...facts
}: Facts): readonly string[] {
  const { approvalName, run } = facts;
  const asked = approval && (approvalName ?? (verb === undefined ? approval : `${verb} ${address}`));
  const objects = [automation?._id, automation?.name, workflow?.id, form?.id, approval, asked, run];
  const devices = [address, approvalName ?? ''].filter(() => verb !== 'GET').flatMap(devicesIn);
  return [
    ...[principal].flatMap(termsFor('p')),
    ...[adapter].flatMap(termsFor('a')),
    ...[outcome].flatMap(termsFor('r')),
    ...objects.flatMap(termsFor('o')),
    ...[...new Set(devices)].slice(0, 100).flatMap(termsFor('d')),
  ];
}

function termsFor(kind: string): (text: string | undefined) => readonly string[] {
  return (text) => (text === undefined ? [] : [`${kind}:${text.slice(0, 200).replaceAll('\0', '\uFFFD').toWellFormed()}`]);
}

function devicesIn(path: string): readonly string[] {
  const [beforeQuery = ''] = path.split('?', 1);
  return [...beforeQuery.matchAll(/(?:^|[/: ])device=([^/,]+)/gu)].map(([, name = '']) => {
    try {
      return decodeURIComponent(name);
    } catch {
      return name;
    }
  });
}
