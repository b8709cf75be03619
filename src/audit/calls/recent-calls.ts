import type { UnchainedEntry } from '../chain/hash-chain.ts';

/** Milliseconds for which a call that has ended is kept, how many calls are kept, and characters of their entries. */
const keptFor = 120_000;
const maxCalls = 10_000;
const maxSize = 16_777_216;

interface RecentCall {
  readonly entries: UnchainedEntry[];
  size: number;
  endedAt: number | undefined;
}

/**
 * The entries of calls in flight, and of those that ended within two minutes. Where the store lost them, the gateway records them again. So
 * the outcomes of calls in flight have their intents. No call of a run leaves twice whose gateway goes on.
 */
export class RecentCalls {
  /** In flight, the oldest first. */
  readonly #open = new Map<number, RecentCall>();
  /** In the order of their ends. */
  readonly #ended = new Map<number, RecentCall>();
  #size = 0;

  add(entry: UnchainedEntry): void {
    const { call, kind, at } = entry;
    const known = this.#open.get(call) ?? this.#ended.get(call) ?? { entries: [], size: 0, endedAt: undefined };
    // Without its intent, as after `maxCalls` others, an entry says nothing.
    if (kind !== 'intent' && known.entries.length === 0) return;
    const size = sizeOf(entry);
    known.entries.push({ ...entry, permit: undefined });
    known.size += size;
    this.#size += size;
    if (kind === 'outcome') {
      known.endedAt = at;
      this.#open.delete(call);
    }
    (known.endedAt === undefined ? this.#open : this.#ended).set(call, known);
    this.#forget(at);
  }

  /** Of each call, its entries in the order of recording. */
  get calls(): ReadonlyMap<number, readonly UnchainedEntry[]> {
    return new Map([...this.#open, ...this.#ended].map(([call, { entries }]) => [call, entries]));
  }

  #forget(now: number): void {
    // A call in flight is the last to go: without its intent, its outcome could not be recorded again.
    for (const calls of [this.#ended, this.#open])
      for (const [call, { endedAt, size }] of calls) {
        const isOld = endedAt !== undefined && endedAt < now - keptFor;
        if (!isOld && this.#open.size + this.#ended.size <= maxCalls && this.#size <= maxSize) break;
        calls.delete(call);
        this.#size -= size;
      }
  }
}

function sizeOf({ facts, key }: UnchainedEntry): number {
  return facts.length + (key?.kind === 'end' ? (key.reply?.length ?? 0) : 0);
}
