import type { LostEntries } from '../audit-entry.ts';
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
export interface LossStatement {
  readonly lost: Pick<LostEntries, 'chain' | 'from' | 'to'>;
  readonly signature: string;
}

/** One line of JSON, without the newline. */
export function lossLine(key: AuditKey, { chain, from, to }: LostEntries): string {
  const lost = { chain, from, to };
  return JSON.stringify({ lost, signature: signed(key, lossValues(lost)) } satisfies LossStatement);
}

export function isToldByGateway(key: AuditKey, { lost, signature }: LossStatement): boolean {
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
