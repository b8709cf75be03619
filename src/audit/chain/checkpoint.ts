import type { Transaction } from 'kysely';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { ChainLink, LostEntries } from '../audit-entry.ts';
import { type AuditKey, isSigned, signed } from './audit-key.ts';
import type { ChainHead } from './hash-chain.ts';

/** The signed head of a chain at one time. Kept elsewhere, it reveals that a chain was cut off or rewritten later. */
export interface Checkpoint {
  readonly chain: string;
  readonly seq: number;
  readonly mac: string;
  /** Milliseconds since the epoch: the time of the entry `seq`. */
  readonly at: number;
  readonly signature: string;
}

/** One line of JSON, without the newline. */
export function checkpointLine(key: AuditKey, chain: string, { seq, mac, at }: ChainHead): string {
  const checkpoint: Checkpoint = { chain, seq, mac, at, signature: signed(key, signedValues({ chain, seq, mac, at })) };
  return JSON.stringify({ ...checkpoint, time: new Date(at).toISOString() });
}

/**
 * What a gateway itself says that the store lost. Kept elsewhere, it tells entries that a failover lost from entries that somebody deleted. Who
 * has the store alone can forge the mark in the chain, and not this line.
 */
interface LossStatement {
  readonly lost: Pick<LostEntries, 'chain' | 'from' | 'to'>;
  readonly signature: string;
}

/** One line of JSON, without the newline. */
export function lossLine(key: AuditKey, { chain, from, to }: LostEntries): string {
  const lost = { chain, from, to };
  return JSON.stringify({ lost, signature: signed(key, lossValues(lost)) } satisfies LossStatement);
}

function isToldByGateway(key: AuditKey, { lost, signature }: LossStatement): boolean {
  return isSigned(key, lossValues(lost), signature);
}

function lossValues({ chain, from, to }: LossStatement['lost']): readonly (string | number)[] {
  return ['lost', chain, from, to];
}

export function isGenuine(key: AuditKey, checkpoint: Checkpoint): boolean {
  return isSigned(key, signedValues(checkpoint), checkpoint.signature);
}

function signedValues({ chain, seq, mac, at }: Omit<Checkpoint, 'signature'>): readonly (string | number)[] {
  return ['checkpoint', chain, seq, mac, at];
}

/** A checkpoint, or what a gateway says that the store lost. */
export type Witness = Checkpoint | LossStatement;

/** Reads a line of a checkpoint file, or a log line that contains a checkpoint or a loss. Undefined for any other line. */
export function readWitness(line: string): Witness | undefined {
  const value = heldIn(line);
  return asCheckpoint(value) ?? asLoss(value);
}

function heldIn(line: string): Readonly<Record<string, unknown>> | undefined {
  const value = parsed(line);
  const held = value?.['checkpoint'];
  return typeof held === 'string' ? parsed(held) : value;
}

function asLoss({ lost, signature }: Readonly<Record<string, unknown>> = {}): LossStatement | undefined {
  if (typeof lost !== 'object' || lost === null || typeof signature !== 'string') return undefined;
  const { chain, from, to } = lost as Readonly<Record<string, unknown>>;
  return typeof chain === 'string' && isCount(from) && isCount(to) ? { lost: { chain, from, to }, signature } : undefined;
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function asCheckpoint(value: Readonly<Record<string, unknown>> | undefined): Checkpoint | undefined {
  const { chain, seq, mac, at, signature } = value ?? {};
  if (typeof chain !== 'string' || typeof mac !== 'string' || typeof signature !== 'string') return undefined;
  if (!isCount(seq) || !isCount(at) || at > latestDate) return undefined;
  return { chain, seq, mac, at, signature };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** The latest time of a Date, in milliseconds since the epoch (ECMAScript 21.4.1.1). */
const latestDate = 8.64e15;

type ChainRow = Tables['audit_chain'];

/** The problem of a record that a link or checkpoint names, if the store does not have that record unchanged. */
export async function missing(
  moment: Transaction<Tables>,
  { chain, seq, mac }: ChainLink,
  witness: string,
): Promise<readonly string[]> {
  const row = await moment.selectFrom('audit_chain').selectAll().where('chain', '=', chain).executeTakeFirst();
  if (row === undefined) return [`the chain ${chain} was removed: ${witness} names it`];
  if (seq < row.pruned_seq) return [];
  const entry =
    seq === row.pruned_seq
      ? { mac: row.pruned_mac }
      : await moment.selectFrom('audit_entry').select('mac').where('chain', '=', chain).where('seq', '=', seq).executeTakeFirst();
  if (entry === undefined) return [`${await cutOff(moment, row, seq)} cut off: ${witness} names ${chain}/${seq}`];
  return entry.mac === mac ? [] : [`${chain}/${seq} is not the record that ${witness} names: the chain was rewritten`];
}

/** The records that are missing up to `seq`. */
async function cutOff(moment: Transaction<Tables>, { chain, pruned_seq }: ChainRow, seq: number): Promise<string> {
  const last = await moment
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

/** Where the store does not have what checkpoints name, and no gateway said that the store lost that. */
export async function witnessProblems(
  database: Pick<Database, 'read'>,
  key: AuditKey | undefined,
  witnesses: AsyncIterable<Witness> | Iterable<Witness>,
): Promise<{ readonly checkpoints: number; readonly problems: readonly string[] }> {
  const { told, found, checkpoints } = await absences(database, key, witnesses);
  const problems = found.filter(({ absent }) => absent === undefined || !told.some((lost) => isWithin(lost, absent)));
  return { checkpoints, problems: problems.map(({ problem }) => problem) };
}

interface Found {
  readonly problem: string;
  /** Set where the store has less than the checkpoint, and nothing in its place. */
  readonly absent?: Checkpoint | undefined;
}

/** What checkpoints name that the store does not have, and what gateways say that it lost. */
export async function absences(
  database: Pick<Database, 'read'>,
  key: AuditKey | undefined,
  witnesses: AsyncIterable<Witness> | Iterable<Witness>,
): Promise<{ readonly told: readonly LossStatement['lost'][]; readonly found: readonly Found[]; readonly checkpoints: number }> {
  const told: LossStatement['lost'][] = [];
  const found: Found[] = [];
  let checkpoints = 0;
  for await (const witness of witnesses) {
    if ('lost' in witness) {
      if (key !== undefined && isToldByGateway(key, witness)) told.push(witness.lost);
      continue;
    }
    checkpoints += 1;
    found.push(...(await database.read.transaction().execute((moment) => checkpointProblems(moment, key, witness))));
  }
  return { told, found, checkpoints };
}

/** The loss took the entry that the checkpoint names. */
export function isWithin(lost: LossStatement['lost'], { chain, seq }: Pick<Checkpoint, 'chain' | 'seq'>): boolean {
  return lost.chain === chain && lost.from <= seq && seq <= lost.to;
}

/** Where the store does not have what a checkpoint names. */
async function checkpointProblems(
  moment: Transaction<Tables>,
  key: AuditKey | undefined,
  checkpoint: Checkpoint,
): Promise<readonly Found[]> {
  const witness = `the checkpoint of ${new Date(checkpoint.at).toISOString()}`;
  if (key === undefined || !isGenuine(key, checkpoint))
    return [{ problem: `${witness} (${checkpoint.chain}/${checkpoint.seq}) is not signed by this store's key` }];
  const row = await moment.selectFrom('audit_chain').selectAll().where('chain', '=', checkpoint.chain).executeTakeFirst();
  if (row !== undefined && checkpoint.seq < row.pruned_seq && checkpoint.at >= row.pruned_before)
    return [{ problem: `${checkpoint.chain}/${checkpoint.seq} was pruned before its time: ${witness} names it` }];
  const problems = await missing(moment, checkpoint, witness);
  if (problems.length === 0) return [];
  const there = moment.selectFrom('audit_entry').select('seq').where('chain', '=', checkpoint.chain);
  const isAbsent = (await there.where('seq', '=', checkpoint.seq).executeTakeFirst()) === undefined;
  return problems.map((problem) => ({ problem, absent: isAbsent ? checkpoint : undefined }));
}
