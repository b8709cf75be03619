import { createHmac, type KeyObject } from 'node:crypto';
import { type ChainedEntry, type EntryKind, type IntentPlace, type KeptBody, type MadeEntry, storable } from '../audit-entry.ts';
import type { KeyChange } from '../idempotency/idempotent-request.ts';
import type { IntentPermit } from '../intent-permit.ts';

/** The end of a chain, which the next entry follows. */
export interface ChainHead {
  readonly seq: number;
  readonly mac: string;
  /** Milliseconds since the epoch: the time of the last entry. */
  readonly at: number;
  readonly total: number;
}

/** An entry without a place in its chain. */
export interface UnchainedEntry {
  readonly kind: EntryKind;
  readonly call: number;
  readonly at: number;
  readonly principal?: string | undefined;
  readonly adapter?: string | undefined;
  readonly approval?: string | undefined;
  readonly facts: string;
  /** What finds the entry (audit-terms.ts). */
  readonly terms?: readonly string[] | undefined;
  /** Of an intent, filled in when it gets its place in the chain; the outcome of the call has the same object. */
  readonly intent?: IntentPlace | undefined;
  /** Of an intent: written in the same transaction; the facts have its digest. */
  readonly body?: KeptBody | undefined;
  /** Applied in the same transaction; not part of the chain. */
  readonly key?: KeyChange | undefined;
  /** Of an intent: used up in the same transaction. */
  readonly permit?: IntentPermit | undefined;
}

/** The head of a chain without entries. */
export function emptyChain(chain: string): ChainHead {
  return { seq: 0, mac: chain, at: 0, total: 0 };
}

/**
 * How many records one entry holds at most, and the length in characters above which it takes no more. A reader of one record has
 * to read the whole entry.
 */
export const recordsInEntry = 32;
const longEntry = 32_768;

/** Appends entries to `head`, and combines records of one millisecond. Equal input gives an equal chain. */
export function chained(options: {
  readonly key: KeyObject;
  readonly chain: string;
  readonly head: ChainHead;
  readonly entries: readonly UnchainedEntry[];
}): { readonly entries: readonly MadeEntry[]; readonly head: ChainHead } {
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
      approval: storable(entry.approval),
      facts: entry.facts,
    };
    const mac = macOf(key, head.mac, unsigned);
    head = { seq: unsigned.seq, mac, at: unsigned.at, total: unsigned.total };
    const { intent, terms, body } = entry;
    if (intent !== undefined && entry.kind === 'intent') Object.assign(intent, { at: unsigned.at, seq: unsigned.seq });
    return { ...unsigned, mac, ...(terms && { terms }), ...(intent && { intent }), ...(body && { body }) };
  });
  return { entries, head };
}

/** The entries in the order of time, starting at `head`, with the records of calls that have the same time combined. */
function composed(head: number, entries: readonly UnchainedEntry[]): readonly UnchainedEntry[] {
  const made: UnchainedEntry[] = [];
  let at = head;
  let sameTime: UnchainedEntry[] = [];
  let length = 0;
  for (const entry of entries) {
    // A clock that is set back must not change the order.
    const isLater = entry.at > at;
    if (isLater || !isRecordOfCall(entry) || sameTime.length === recordsInEntry || length >= longEntry) {
      made.push(...combined(at, sameTime));
      [sameTime, length] = [[], 0];
    }
    at = Math.max(at, entry.at);
    if (isRecordOfCall(entry)) {
      sameTime.push(entry);
      length += entry.facts.length;
    } else made.push({ ...entry, at });
  }
  return [...made, ...combined(at, sameTime)];
}

/** Records of the gateway itself, such as its start and end, are never combined, because verification looks for them. */
function isRecordOfCall({ kind, call }: UnchainedEntry): boolean {
  return kind === 'record' && call > 0;
}

function combined(at: number, records: readonly UnchainedEntry[]): readonly UnchainedEntry[] {
  const [first] = records;
  if (first === undefined) return [];
  if (records.length === 1) return [{ ...first, at }];
  const terms = new Set(records.flatMap((record) => record.terms ?? []));
  const facts = `[${records.map((record) => record.facts).join(',')}]`;
  return [{ kind: 'records', call: first.call, at, facts, terms: [...terms] }];
}

/**
 * The HMAC-SHA-256 of an entry that follows the entry with the MAC `previous`. Only the last part can contain a line break, so
 * different entries never give the same text. `principal`, `adapter` and `approval` are also in `facts`; verification compares them.
 */
export function macOf(key: KeyObject, previous: string, entry: Omit<ChainedEntry, 'mac'>): string {
  const { chain, seq, kind, call, at, total, facts } = entry;
  return createHmac('sha256', key)
    .update(`${previous}\n${chain}\n${seq}\n${kind}\n${call}\n${at}\n${total}\n${facts}`)
    .digest('base64url');
}
