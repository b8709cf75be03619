import type { KeyObject } from 'node:crypto';
import type { Transaction } from 'kysely';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables.ts';
import { type AuditFacts, type ChainedEntry, type ChainLink, factsOf, storable } from './audit-entry.ts';
import type { AuditKey } from './audit-key.ts';
import { isAnchorGenuine } from './audit-pruning.ts';
import { storedAuditKey } from './audit-store.ts';
import { type Checkpoint, isGenuine } from './checkpoint.ts';
import { macOf } from './hash-chain.ts';
import { whatHappened } from './tampering.ts';

/** The result of a verification. Problems name records as `CHAIN/SEQ`. */
export interface AuditVerdict {
  readonly chains: number;
  readonly records: number;
  readonly checkpoints: number;
  /** The first problem of each chain, then the problems of links between chains and of checkpoints. */
  readonly problems: readonly string[];
}

type Snapshot = Transaction<Tables>;

/** How many entries are in memory at once. Swapped entries are reported as a swap only if both are among them. */
const pageSize = 1_000;

/** Verifies a snapshot of the whole log, and compares it with the checkpoints. Gateways may continue to write meanwhile. */
export async function verifyAudit(
  database: Database,
  checkpoints: AsyncIterable<Checkpoint> | Iterable<Checkpoint> = [],
): Promise<AuditVerdict> {
  const snapshot = await database.read.startTransaction().execute();
  try {
    return await verifySnapshot(snapshot, checkpoints);
  } finally {
    await snapshot.rollback().execute();
  }
}

async function verifySnapshot(
  snapshot: Snapshot,
  checkpoints: AsyncIterable<Checkpoint> | Iterable<Checkpoint>,
): Promise<AuditVerdict> {
  const key = await storedAuditKey(snapshot);
  const chains = await chainNames(snapshot);
  const problems: string[] = [];
  let [records, seen] = [0, 0];
  if (key === undefined && chains.length > 0)
    return { chains: chains.length, records, checkpoints: 0, problems: ['the audit key is missing'] };
  if (key !== undefined && chains.length === 0)
    problems.push('all chains were removed: the store has an audit key, which is made with the first chain');
  for (const chain of chains) {
    if (key === undefined) break;
    const walk = await walkChain(snapshot, key, chain);
    records += walk.records;
    problems.push(...walk.problems);
    for (const link of walk.links) problems.push(...(await missing(snapshot, link, `the beginning of ${chain}`)));
  }
  for await (const checkpoint of checkpoints) {
    seen += 1;
    problems.push(...(await checkpointProblems(snapshot, key, checkpoint)));
  }
  return { chains: chains.length, records, checkpoints: seen, problems: [...new Set(problems)] };
}

/** The chains with a row and the chains with entries, because either may have been deleted. */
async function chainNames(snapshot: Snapshot): Promise<readonly string[]> {
  const rows = await snapshot.selectFrom('audit_chain').select('chain').execute();
  const names = new Set(rows.map(({ chain }) => chain));
  for (let last = ''; ; ) {
    const next = await snapshot
      .selectFrom('audit_entry')
      .select('chain')
      .where('chain', '>', last)
      .orderBy('chain')
      .limit(1)
      .executeTakeFirst();
    if (next === undefined) return [...names].sort();
    names.add(next.chain);
    last = next.chain;
  }
}

interface Walk {
  readonly records: number;
  readonly problems: readonly string[];
  readonly links: readonly ChainLink[];
}

type ChainRow = Tables['audit_chain'];

async function walkChain(snapshot: Snapshot, key: AuditKey, chain: string): Promise<Walk> {
  const row = await snapshot.selectFrom('audit_chain').selectAll().where('chain', '=', chain).executeTakeFirst();
  if (row === undefined) return { records: 0, problems: [`the chain ${chain} has records, but its row is missing`], links: [] };
  if (row.pruned_seq > 0 && !isAnchorGenuine(key, row))
    return { records: 0, problems: [`the beginning of chain ${chain} was removed, but not by a gateway`], links: [] };
  let previous = { seq: row.pruned_seq, mac: row.pruned_seq > 0 ? row.pruned_mac : chain };
  const links: ChainLink[] = [];
  let last: AuditFacts | undefined;
  for (let records = 0; ; ) {
    const page = await pageAfter(snapshot, chain, previous.seq);
    for (const [index, entry] of page.entries()) {
      if (!isInPlace(key.macKey, previous, entry)) {
        return { records, links, problems: [whatHappened({ key: key.macKey, previous, entries: page.slice(index), chain })] };
      }
      const facts = factsOf(entry);
      last = facts.at(-1);
      links.push(...facts.flatMap(linksOf));
      previous = entry;
      records += facts.length;
    }
    if (page.length < pageSize) return { records, links, problems: endProblems(row, previous.seq, last) };
  }
}

function linksOf({ event, links = [] }: AuditFacts): readonly ChainLink[] {
  return event === 'start' ? links : [];
}

/**
 * When a gateway ends, the last record of its chain says so. If a chain has no records, either pruning deleted them all,
 * including that one, or they were tampered with.
 */
function endProblems(
  { chain, ended_at, pruned_seq, pruned_before }: ChainRow,
  seq: number,
  last?: AuditFacts,
): readonly string[] {
  const cutOff = `${chain}/${seq + 1} and what followed was cut off`;
  const endIsKnown = last === undefined ? ended_at !== null && ended_at < pruned_before : last.event === 'end';
  if (ended_at !== null && !endIsKnown) return [`${cutOff}: the chain has ended, but its last record is missing`];
  if (last === undefined && pruned_seq === 0) return [`${cutOff}: the chain has no records, but none were pruned`];
  return [];
}

function pageAfter(snapshot: Snapshot, chain: string, seq: number): Promise<readonly ChainedEntry[]> {
  return snapshot
    .selectFrom('audit_entry')
    .selectAll()
    .where('chain', '=', chain)
    .where('seq', '>', seq)
    .orderBy('seq')
    .limit(pageSize)
    .execute() as Promise<readonly ChainedEntry[]>;
}

function isInPlace(key: KeyObject, previous: { readonly seq: number; readonly mac: string }, entry: ChainedEntry): boolean {
  if (entry.seq !== previous.seq + 1 || macOf(key, previous.mac, entry) !== entry.mac) return false;
  const { principal, adapter } = entry.kind === 'records' ? {} : (JSON.parse(entry.facts) as AuditFacts);
  return entry.principal === storable(principal) && entry.adapter === storable(adapter);
}

/** The problem of a record that a link or checkpoint names, if the store does not have that record unchanged. */
async function missing(snapshot: Snapshot, { chain, seq, mac }: ChainLink, witness: string): Promise<readonly string[]> {
  const row = await snapshot.selectFrom('audit_chain').selectAll().where('chain', '=', chain).executeTakeFirst();
  if (row === undefined) return [`the chain ${chain} was removed: ${witness} names it`];
  if (seq < row.pruned_seq) return [];
  const entry =
    seq === row.pruned_seq
      ? { mac: row.pruned_mac }
      : await snapshot
          .selectFrom('audit_entry')
          .select('mac')
          .where('chain', '=', chain)
          .where('seq', '=', seq)
          .executeTakeFirst();
  if (entry === undefined) return [`${await cutOff(snapshot, row, seq)} cut off: ${witness} names ${chain}/${seq}`];
  return entry.mac === mac ? [] : [`${chain}/${seq} is not the record that ${witness} names: the chain was rewritten`];
}

/** The records that are missing up to `seq`. */
async function cutOff(snapshot: Snapshot, { chain, pruned_seq }: ChainRow, seq: number): Promise<string> {
  const last = await snapshot
    .selectFrom('audit_entry')
    .select('seq')
    .where('chain', '=', chain)
    .where('seq', '<', seq)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  const first = (last?.seq ?? pruned_seq) + 1;
  return first === seq ? `${chain}/${seq} was` : `${chain}/${first} to ${chain}/${seq} were`;
}

async function checkpointProblems(
  snapshot: Snapshot,
  key: AuditKey | undefined,
  checkpoint: Checkpoint,
): Promise<readonly string[]> {
  const witness = `the checkpoint of ${new Date(checkpoint.at).toISOString()}`;
  if (key === undefined || !isGenuine(key, checkpoint))
    return [`${witness} (${checkpoint.chain}/${checkpoint.seq}) is not signed by this store's key`];
  const row = await snapshot.selectFrom('audit_chain').selectAll().where('chain', '=', checkpoint.chain).executeTakeFirst();
  if (row !== undefined && checkpoint.seq < row.pruned_seq && checkpoint.at >= row.pruned_before)
    return [`${checkpoint.chain}/${checkpoint.seq} was pruned before its time: ${witness} names it`];
  return await missing(snapshot, checkpoint, witness);
}
