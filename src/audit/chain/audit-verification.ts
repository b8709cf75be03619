import type { KeyObject } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Kysely, sql, type Transaction } from 'kysely';
import { cursorMembers } from '#base/text/query-parameters.ts';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables/tables.ts';
import { type AuditFacts, type ChainedEntry, type ChainLink, factsOf, type LostEntries, storable } from '../audit-entry.ts';
import { isAnchorGenuine } from '../audit-pruning.ts';
import { storedAuditKey } from '../audit-store.ts';
import { bodyProblems } from '../bodies/kept-bodies.ts';
import type { AuditKey } from './audit-key.ts';
import { missing, type Witness, witnessProblems } from './checkpoint.ts';
import { macOf } from './hash-chain.ts';

/** The result of a verification, or of a part of one. Problems name records as `CHAIN/SEQ`. */
export interface AuditVerdict {
  /** Chains that were verified to their end. */
  readonly chains: number;
  readonly records: number;
  readonly checkpoints: number;
  /** The times of the earliest and of the latest of these records, in milliseconds since the epoch. */
  readonly from: number | undefined;
  readonly to: number | undefined;
  /** The first problem of each chain, and the problems of links between chains, of checkpoints, and of kept bodies. */
  readonly problems: readonly string[];
  /** What gateways say that the store lost: the numbers of the first and the last entry. */
  readonly lost: readonly Pick<LostEntries, 'chain' | 'from' | 'to'>[];
  /** Where the next part begins. Undefined: the log is verified to its end. */
  readonly next: VerifiedPart | undefined;
}

/** Compares approvals with the log, from the one after `after` on. `next`: the last one, where there are more. */
export type VerifyApprovals = (
  after: string,
  mayGoOn: () => boolean,
) => Promise<{ readonly problems: readonly string[]; readonly next: string | undefined }>;

export interface VerificationOptions {
  /** `next` of the part before. Undefined: from the beginning of the log. */
  readonly after?: VerifiedPart | undefined;
  /** Compared with the store first. */
  readonly checkpoints?: AsyncIterable<Witness> | Iterable<Witness>;
  /** Asked after each page. False: the verification ends there, and `next` says where. */
  readonly mayGoOn?: () => boolean;
  /** Absent: approvals are not compared. */
  readonly approvals?: VerifyApprovals | undefined;
}

/** How many entries are in memory at once. Swapped entries are reported as a swap only if both are among them. */
const pageSize = 250;

/** Characters of entries after which the event loop has a turn: some milliseconds of work. */
const turnAfter = 262_144;

/** Mutable: what a verification has found so far. */
interface Findings {
  chains: number;
  records: number;
  checkpoints: number;
  from: number | undefined;
  to: number | undefined;
  readonly problems: Set<string>;
  /** By chain and number, so that a loss that was marked twice is found once. */
  readonly lost: Map<string, AuditVerdict['lost'][number]>;
}

type Reading = Kysely<Tables> | Transaction<Tables>;

/**
 * Verifies the log up to its end, or as far as `mayGoOn` allows, and compares it with the checkpoints. Gateways may continue to write and to
 * prune meanwhile: each page is read in a short transaction of its own.
 */
export async function verifyAudit(database: Database, options: VerificationOptions = {}): Promise<AuditVerdict> {
  const { after, checkpoints = [], mayGoOn = () => true, approvals } = options;
  const findings: Findings = {
    chains: 0,
    records: 0,
    checkpoints: 0,
    from: undefined,
    to: undefined,
    problems: new Set(),
    lost: new Map(),
  };
  const { key, first } = await database.read.transaction().execute(async (moment) => ({
    key: await storedAuditKey(moment),
    first: after ?? (await chainAfter(moment, '')),
  }));
  if (key === undefined && first !== undefined) {
    findings.problems.add('the audit key is missing');
    return verdictOf(findings, undefined);
  }
  const witnessed = await witnessProblems(database, key, checkpoints);
  findings.checkpoints = witnessed.checkpoints;
  for (const problem of witnessed.problems) findings.problems.add(problem);
  if (key === undefined) return verdictOf(findings, undefined);
  if (first === undefined)
    findings.problems.add('all chains were removed: the store has an audit key, which is made with the first chain');
  return verdictOf(findings, await verifyParts({ database, key, findings }, first, { approvals, mayGoOn }));
}

/** Verifies the chains, and then the approvals. Answers where the next part begins. */
async function verifyParts(
  verifying: Verifying,
  first: VerifiedPart | undefined,
  { approvals, mayGoOn }: { readonly approvals: VerifyApprovals | undefined; readonly mayGoOn: () => boolean },
): Promise<VerifiedPart | undefined> {
  const isPast = first !== undefined && 'approval' in first;
  const place = isPast ? undefined : await verifyFrom(verifying, first, mayGoOn);
  if (place !== undefined || approvals === undefined) return place;
  const { problems, next } = await approvals(isPast ? first.approval : '', mayGoOn);
  for (const problem of problems) verifying.findings.problems.add(problem);
  return next === undefined ? undefined : { approval: next };
}

/** Answers where the next part begins. */
async function verifyFrom(
  verifying: Verifying,
  first: VerifiedPosition | undefined,
  mayGoOn: () => boolean,
): Promise<VerifiedPosition | undefined> {
  let place = first;
  while (place !== undefined) {
    place = await verifyPage(verifying, place);
    if (!mayGoOn()) break;
  }
  return place;
}

function verdictOf({ problems, lost, ...found }: Findings, next: VerifiedPart | undefined): AuditVerdict {
  return { ...found, problems: [...problems], lost: [...lost.values()], next };
}

async function note(
  { problems }: Findings,
  database: Database,
  look: (moment: Transaction<Tables>) => Promise<readonly string[]>,
): Promise<void> {
  for (const problem of await database.read.transaction().execute(look)) problems.add(problem);
}

/** The beginning of the next chain, of those with a row and those with entries, because either may have been deleted. */
async function chainAfter(reading: Reading, chain: string): Promise<VerifiedPosition | undefined> {
  const { rows } = await sql<{ readonly chain: string }>`
    select chain from (select chain from audit_chain where chain > ${chain} order by chain limit 1) as heads union all
    select chain from (select chain from audit_entry where chain > ${chain} order by chain limit 1) as bodies
    order by chain limit 1`.execute(reading);
  return rows[0] && { chain: rows[0].chain, seq: 0 };
}

type ChainRow = Tables['audit_chain'];

interface Verifying {
  readonly database: Database;
  readonly key: AuditKey;
  readonly findings: Findings;
}

/** Verifies some entries that follow `place`. Answers where the next ones begin. */
async function verifyPage(verifying: Verifying, place: VerifiedPosition): Promise<VerifiedPosition | undefined> {
  const { database, key, findings } = verifying;
  const { chain } = place;
  const { row, entries } = await database.read.transaction().execute(async (moment) => ({
    row: await moment.selectFrom('audit_chain').selectAll().where('chain', '=', chain).executeTakeFirst(),
    entries: await entriesFrom(moment, place),
  }));
  const start = startOf(key, row, { place, entries });
  if ('problem' in start) findings.problems.add(start.problem);
  else {
    const { seq, last, links, isBroken } = await walk(verifying, start);
    const verified = start.page.filter((entry) => entry.seq <= seq);
    for (const problem of await bodyProblems(database, verified)) findings.problems.add(problem);
    for (const link of links) await note(findings, database, (moment) => missing(moment, link, `the beginning of ${chain}`));
    if (!isBroken && entries.length > pageSize) return { chain, seq };
    if (!isBroken) for (const problem of endProblems(start.row, seq, last)) findings.problems.add(problem);
  }
  findings.chains += 1;
  return await chainAfter(database.read, chain);
}

/** What follows `previous`. */
interface Start {
  readonly row: ChainRow;
  readonly previous: { readonly seq: number; readonly mac: string };
  /** The last record of the entry `previous`, where the store has it. */
  readonly last?: AuditFacts | undefined;
  readonly page: readonly ChainedEntry[];
}

function startOf(
  key: AuditKey,
  row: ChainRow | undefined,
  { place: { chain, seq }, entries }: { readonly place: VerifiedPosition; readonly entries: readonly ChainedEntry[] },
): Start | { readonly problem: string } {
  if (row === undefined) return { problem: `the chain ${chain} has records, but its row is missing` };
  const [verified, ...page] = entries;
  if (seq > 0 && verified?.seq === seq) return { row, previous: verified, last: factsOf(verified).at(-1), page };
  if (row.pruned_seq > 0 && row.pruned_seq >= seq) {
    if (isAnchorGenuine(key, row)) return { row, previous: { seq: row.pruned_seq, mac: row.pruned_mac }, page: entries };
    return { problem: `the beginning of chain ${chain} was removed, but not by a gateway` };
  }
  if (seq > 0) return { problem: `${chain}/${seq} was removed while the log was verified` };
  return { row, previous: { seq: 0, mac: chain }, page: entries };
}

interface Walk {
  /** Of the last entry in its place. */
  readonly seq: number;
  readonly last: AuditFacts | undefined;
  readonly links: readonly ChainLink[];
  readonly isBroken: boolean;
}

async function walk({ key: { macKey }, findings }: Verifying, { row: { chain }, page, ...start }: Start): Promise<Walk> {
  let { previous, last } = start;
  const links: ChainLink[] = [];
  let characters = 0;
  for (const [index, entry] of page.entries()) {
    if (!isInPlace(macKey, previous, entry)) {
      findings.problems.add(whatHappened({ key: macKey, previous, entries: page.slice(index), chain }));
      return { seq: previous.seq, last, links, isBroken: true };
    }
    const facts = factsOf(entry);
    last = facts.at(-1);
    for (const { lost } of facts)
      if (lost) findings.lost.set(`${lost.chain}/${lost.from}`, { chain: lost.chain, from: lost.from, to: lost.to });
    links.push(...facts.flatMap(linksOf));
    previous = entry;
    findings.records += facts.length;
    findings.from = Math.min(entry.at, findings.from ?? entry.at);
    findings.to = Math.max(entry.at, findings.to ?? entry.at);
    characters += entry.facts.length;
    if (characters < turnAfter) continue;
    characters = 0;
    await nextTurn();
  }
  return { seq: previous.seq, last, links, isBroken: false };
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

/** The entry at `seq`, which is verified, and a page of those after it. */
function entriesFrom(moment: Transaction<Tables>, { chain, seq }: VerifiedPosition): Promise<readonly ChainedEntry[]> {
  return moment
    .selectFrom('audit_entry')
    .selectAll()
    .where('chain', '=', chain)
    .where('seq', '>=', seq)
    .orderBy('seq')
    .limit(pageSize + 1)
    .execute() as Promise<readonly ChainedEntry[]>;
}

function isInPlace(key: KeyObject, previous: { readonly seq: number; readonly mac: string }, entry: ChainedEntry): boolean {
  if (macOf(key, previous.mac, entry) !== entry.mac) return false;
  const { principal, adapter, proof, lost } = entry.kind === 'records' ? {} : (JSON.parse(entry.facts) as Partial<AuditFacts>);
  // A gateway whose entries the store lost says so in the next one, and gives no number twice.
  const isBehindLoss = lost?.chain === entry.chain && lost.from === previous.seq + 1 && lost.to === entry.seq - 1;
  if (entry.seq !== previous.seq + 1 && !isBehindLoss) return false;
  const found = [entry.principal, entry.adapter, entry.approval];
  return [principal, adapter, proof?.approval].every((text, index) => found[index] === storable(text));
}

interface Break {
  readonly key: KeyObject;
  /** The last record in its place. */
  readonly previous: { readonly seq: number; readonly mac: string };
  /** The first record that is not in its place, and some records after it. */
  readonly entries: readonly ChainedEntry[];
  readonly chain: string;
}

/** Names the change that breaks the chain after `previous`, as far as the entries show it. */
function whatHappened({ key, previous, entries, chain }: Break): string {
  const [entry, ...later] = entries;
  if (entry === undefined) throw new Error('A break needs an entry.');
  const expected = previous.seq + 1;
  const name = `${chain}/${expected}`;
  if (entry.seq === expected + 1) return `${name} was removed`;
  if (entry.seq > expected) return `${name} to ${chain}/${entry.seq - 1} were removed`;
  if (fits(key, entry, previous.mac, entry.seq)) return `${name} was changed: its columns for searches differ from its text`;
  const own = later.findIndex((candidate) => fits(key, candidate, previous.mac, expected));
  const found = later[own];
  if (found === undefined) return `${name} was changed`;
  // The expected record comes later. Either two records were swapped, or one was inserted.
  const before = later[Math.max(0, own - 1)];
  return fits(key, entry, before?.mac ?? '', found.seq)
    ? `${name} was swapped with ${chain}/${found.seq}`
    : `${name} was inserted`;
}

/** True if the record was written with the number `seq` after the record with the MAC `before`. */
function fits(key: KeyObject, candidate: ChainedEntry, before: string, seq: number): boolean {
  return macOf(key, before, { ...candidate, seq }) === candidate.mac;
}

/** Up to here the log is verified. `seq` 0: to the beginning of the chain. */
interface VerifiedPosition {
  readonly chain: string;
  readonly seq: number;
}

/** Or all chains are verified, and the approvals up to this one. */
type VerifiedPart = VerifiedPosition | { readonly approval: string };

/** In place of a chain; no chain has this name. */
const afterChains = '*';

export function writeVerifiedPlace(place: VerifiedPart): string {
  const members = 'approval' in place ? [afterChains, place.approval] : [place.chain, place.seq];
  return Buffer.from(JSON.stringify(members)).toString('base64url');
}

/** Undefined for any other text. */
export function readVerifiedPlace(text: string): VerifiedPart | undefined {
  const [chain, seq, ...more] = cursorMembers(text);
  if (!isName(chain) || more.length > 0) return undefined;
  if (chain === afterChains && isName(seq)) return { approval: seq };
  return Number.isSafeInteger(seq) && (seq as number) >= 0 ? { chain, seq: seq as number } : undefined;
}

/** A text that every database can compare. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}
