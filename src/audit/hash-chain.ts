import { createHmac, type KeyObject } from 'node:crypto';
import { type ChainedEntry, type EntryKind, storable } from './audit-entry.ts';
import type { KeyEffect } from './key-effect.ts';

/** Where a chain stands: what the next entry follows. */
export interface ChainHead {
  readonly seq: number;
  readonly mac: string;
  /** Milliseconds since the epoch, of the last entry. */
  readonly at: number;
  readonly total: number;
}

/** An entry that has no place in its chain yet. */
export interface UnchainedEntry {
  readonly kind: EntryKind;
  readonly call: number;
  readonly at: number;
  readonly principal?: string | undefined;
  readonly adapter?: string | undefined;
  readonly facts: string;
  /** What is done in the same transaction; it is no part of the chain. */
  readonly key?: KeyEffect | undefined;
}

/** Before the first entry. */
export function emptyChain(chain: string): ChainHead {
  return { seq: 0, mac: chain, at: 0, total: 0 };
}

/** Records in one entry at most, and characters from which on it takes no more: whoever reads one of them reads all. */
export const recordsInEntry = 32;
const longEntry = 32_768;

/** Puts entries behind `head`, records of one millisecond in one. Pure: the same input gives the same chain. */
export function chained(options: {
  readonly key: KeyObject;
  readonly chain: string;
  readonly head: ChainHead;
  readonly entries: readonly UnchainedEntry[];
}): { readonly entries: readonly ChainedEntry[]; readonly head: ChainHead } {
  const { key, chain } = options;
  let { head } = options;
  const entries = composed(head.at, options.entries).map((entry) => {
    const unsigned = {
      chain,
      seq: head.seq + 1,
      kind: entry.kind,
      call: entry.call,
      at: entry.at,
      total: head.total + entry.facts.length,
      principal: storable(entry.principal),
      adapter: storable(entry.adapter),
      facts: entry.facts,
    };
    const mac = macOf(key, head.mac, unsigned);
    head = { seq: unsigned.seq, mac, at: unsigned.at, total: unsigned.total };
    return { ...unsigned, mac };
  });
  return { entries, head };
}

/** As they are written: in the order of time, from `head` on, and records of calls that have the same in one. */
function composed(head: number, entries: readonly UnchainedEntry[]): readonly UnchainedEntry[] {
  const made: UnchainedEntry[] = [];
  let at = head;
  let alike: UnchainedEntry[] = [];
  let length = 0;
  for (const entry of entries) {
    // A clock that is set back does not turn the order round.
    const isLater = entry.at > at;
    if (isLater || !isRecordOfCall(entry) || alike.length === recordsInEntry || length >= longEntry) {
      made.push(...inOne(at, alike));
      [alike, length] = [[], 0];
    }
    at = Math.max(at, entry.at);
    if (isRecordOfCall(entry)) {
      alike.push(entry);
      length += entry.facts.length;
    } else made.push({ ...entry, at });
  }
  return [...made, ...inOne(at, alike)];
}

/** Of the gateway's own, such as its start and its end, verification wants to find each by itself. */
function isRecordOfCall({ kind, call }: UnchainedEntry): boolean {
  return kind === 'record' && call > 0;
}

function inOne(at: number, records: readonly UnchainedEntry[]): readonly UnchainedEntry[] {
  const [first] = records;
  if (first === undefined) return [];
  if (records.length === 1) return [{ ...first, at }];
  return [{ kind: 'records', call: first.call, at, facts: `[${records.map(({ facts }) => facts).join(',')}]` }];
}

/**
 * HMAC-SHA-256 of an entry behind the one whose MAC is `previous`. No part but the last can hold a line break, so that two different
 * entries never give the same text; `principal` and `adapter` are in `facts`, and held against them by the verification.
 */
export function macOf(key: KeyObject, previous: string, entry: Omit<ChainedEntry, 'mac'>): string {
  const { chain, seq, kind, call, at, total, facts } = entry;
  return createHmac('sha256', key)
    .update(`${previous}\n${chain}\n${seq}\n${kind}\n${call}\n${at}\n${total}\n${facts}`)
    .digest('base64url');
}
