import type { KeyObject } from 'node:crypto';
import type { ChainedEntry } from './audit-entry.ts';
import { macOf } from './hash-chain.ts';

interface Break {
  readonly key: KeyObject;
  /** The last record in its place. */
  readonly previous: { readonly seq: number; readonly mac: string };
  /** The first record that is not in its place, and some records after it. */
  readonly entries: readonly ChainedEntry[];
  readonly chain: string;
}

/** Names the change that breaks the chain after `previous`, as far as the entries show it. */
export function whatHappened({ key, previous, entries, chain }: Break): string {
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
