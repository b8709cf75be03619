import type { KeyObject } from 'node:crypto';
import type { ChainedEntry } from './audit-entry.ts';
import { macOf } from './hash-chain.ts';

interface Break {
  readonly key: KeyObject;
  /** The last record that is in its place. */
  readonly previous: { readonly seq: number; readonly mac: string };
  /** The first that is not, and some that follow it. */
  readonly entries: readonly ChainedEntry[];
  readonly chain: string;
}

/** Says of a chain that does not go on after `previous` what was done to it, as far as it can be told. */
export function whatHappened({ key, previous, entries, chain }: Break): string {
  const [entry, ...later] = entries;
  if (entry === undefined) throw new Error('A break is at an entry.');
  const expected = previous.seq + 1;
  const name = `${chain}/${expected}`;
  if (entry.seq === expected + 1) return `${name} was removed`;
  if (entry.seq > expected) return `${name} to ${chain}/${entry.seq - 1} were removed`;
  if (fits(key, entry, previous.mac, entry.seq)) return `${name} was changed: what it is found by is not what it says`;
  const own = later.findIndex((candidate) => fits(key, candidate, previous.mac, expected));
  const found = later[own];
  if (found === undefined) return `${name} was changed`;
  // The record that belongs here stands further on: either the two changed places, or one was put in between.
  const before = later[Math.max(0, own - 1)];
  return fits(key, entry, before?.mac ?? '', found.seq)
    ? `${name} was swapped with ${chain}/${found.seq}`
    : `${name} was inserted`;
}

/** True where the record was written as number `seq`, behind the record of that MAC. */
function fits(key: KeyObject, candidate: ChainedEntry, before: string, seq: number): boolean {
  return macOf(key, before, { ...candidate, seq }) === candidate.mac;
}
