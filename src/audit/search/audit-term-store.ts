import { type RawBuilder, sql, type Transaction } from 'kysely';
import type { Database } from '#database/database.ts';
import { jsonRows } from '#database/json-rows.ts';
import type { Tables } from '#database/tables/tables.ts';
import { auditOutcomes, type ChainedEntry, factsOf, type MadeEntry } from '../audit-entry.ts';
import { auditTermsOf, type TermRow, termChanges, termOf } from './audit-terms.ts';

type Dialect = Database['dialect'];

const placeColumns = { at: 'bigint', chain: 'text', seq: 'bigint' } as const;
const columns = { term: 'text', ...placeColumns } as const;

/** What is written with the entries so that readers find them. */
export function termStatements(
  dialect: Dialect,
  entries: readonly MadeEntry[],
  condition: RawBuilder<unknown>,
): readonly RawBuilder<unknown>[] {
  const { added, opened, ended } = termChanges(entries);
  const statements = [];
  if (added.length > 0)
    statements.push(sql`insert into audit_term (term, at, chain, seq) select * from ${jsonRows(dialect, columns, added)}
      where ${condition} on conflict do nothing`);
  if (opened.length > 0)
    statements.push(sql`insert into audit_open (at, chain, seq) select * from ${jsonRows(dialect, placeColumns, opened)}
      where ${condition} on conflict do nothing`);
  if (ended.length > 0)
    statements.push(sql`delete from audit_open where (chain, seq) in
      (select chain, seq from ${jsonRows(dialect, placeColumns, ended)}) and ${condition}`);
  return statements;
}

const ofOutcomes = [...auditOutcomes.map(termOf.outcome), termOf.laterText];

/** Deletes what finds the entries of a chain up to `seq`. To be called before they are deleted. */
export async function forgetTerms(
  transaction: Transaction<Tables>,
  dialect: Dialect,
  { chain, seq }: { readonly chain: string; readonly seq: number },
): Promise<void> {
  const { rows } = await sql<ChainedEntry>`select kind, at, seq, facts from audit_entry
    where chain = ${chain} and seq <= ${seq} and kind in ('intent', 'record', 'records')`.execute(transaction);
  const terms = rows.flatMap((entry) => {
    const found = new Set(factsOf(entry).flatMap((facts) => auditTermsOf(facts)));
    // The outcome of a call is in another entry.
    if (entry.kind === 'intent') for (const term of ofOutcomes) found.add(term);
    return [...found].map((term): TermRow => [term, entry.at, chain, entry.seq]);
  });
  if (terms.length > 0)
    await sql`delete from audit_term where (term, at, chain, seq) in
      (select term, at, chain, seq from ${jsonRows(dialect, columns, terms)})`.execute(transaction);
  await sql`delete from audit_open where chain = ${chain} and seq <= ${seq}`.execute(transaction);
}
