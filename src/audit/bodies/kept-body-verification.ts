import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from '#database/database.ts';
import { type ChainedEntry, factsOf } from '../audit-entry.ts';
import { digestOfKept } from './kept-bodies.ts';
import { bodiesAmong, type StoredBody } from './kept-body-store.ts';

/** The bodies that are not those of these entries of one chain, in its order. A body that is gone is no problem. */
export async function bodyProblems(
  database: Pick<Database, 'read'>,
  entries: readonly ChainedEntry[],
): Promise<readonly string[]> {
  const [first, last] = [entries[0], entries.at(-1)];
  if (first === undefined || last === undefined) return [];
  const bySeq = new Map(entries.map((entry) => [entry.seq, entry]));
  const problems: string[] = [];
  for await (const bodies of bodiesAmong(database, { chain: first.chain, from: first.seq, to: last.seq })) {
    for (const body of bodies) {
      const problem = problemOf(body, bySeq.get(body.seq));
      if (problem !== undefined) problems.push(`the body of ${first.chain}/${body.seq} ${problem}`);
    }
    await nextTurn();
  }
  return problems;
}

function problemOf({ body, is_cut: isCut }: StoredBody, entry: ChainedEntry | undefined): string | undefined {
  const [{ bodySha256, keptSha256 } = {}] = entry?.kind === 'intent' ? factsOf(entry) : [];
  if (bodySha256 === undefined) return 'was made up';
  const isSame = digestOfKept(body) === (keptSha256 ?? bodySha256) && (isCut === 1) === (keptSha256 !== undefined);
  return isSame ? undefined : 'was changed';
}
