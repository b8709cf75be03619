import type { ChainedEntry } from './audit-entry.ts';
import { macOf } from './hash-chain.ts';

interface Break {
  readonly key: Buffer;
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
  const fits = (candidate: ChainedEntry | undefined, before: string, seq: number): boolean =>
    candidate !== undefined && macOf(key, before, { ...candidate, seq }) === candidate.mac;
  if (entry.seq > expected) {
    return entry.seq === expected + 1 ? `${name} was removed` : `${name} to ${chain}/${entry.seq - 1} were removed`;
  }
  if (fits(entry, previous.mac, entry.seq)) return `${name} was changed: what it is found by is not what it says`;
  const own = later.findIndex((candidate) => fits(candidate, previous.mac, expected));
  if (own < 0) return `${name} was changed`;
  // The record that belongs here stands further on: either the two changed places, or one was put in between.
  const before = own === 0 ? later[0] : later[own - 1];
  const swapped = fits(entry, before?.mac ?? '', later[own]?.seq ?? 0);
  return swapped ? `${name} was swapped with ${chain}/${later[own]?.seq}` : `${name} was inserted`;
}
