import type { UnchainedEntry } from './hash-chain.ts';

/** An entry that is to be written, and what it is to the call that it speaks of. */
export interface Waiting {
  readonly entry: UnchainedEntry;
  /** `ahead` of a call that it holds up; `owed` to a call that has happened; or `behind` its call. */
  readonly kind: 'ahead' | 'behind' | 'owed';
  readonly settle?: { readonly resolve: () => void; readonly reject: (error: Error) => void };
}

/** All of it but its facts, and how many bytes those are. */
interface Kept extends Pick<Waiting, 'kind'> {
  readonly entry: Omit<UnchainedEntry, 'facts'>;
  readonly length: number;
}

/** Bytes of memory for facts; it is doubled as often as it takes, and given back where it is more than the second. */
const usualRoom = 65_536;
const keptRoom = 8 * 1024 ** 2;

/**
 * Entries that no call waits for, in the order in which they came. Their facts are kept as bytes outside of V8's heap: thousands of texts
 * that live for half a second would outlive the collections of the young generation, which copy them twice, into the old one in the end.
 */
export class WaitingEntries {
  readonly #kept: Kept[] = [];
  #bytes: Buffer = Buffer.allocUnsafeSlow(usualRoom);
  /** Where the facts that are kept begin and end. */
  #start = 0;
  #end = 0;
  /** Characters of the replies that go with them. */
  #replies = 0;

  get count(): number {
    return this.#kept.length;
  }

  /** Bytes of their facts, and characters of the replies that are to be kept with them. */
  get size(): number {
    return this.#end - this.#start + this.#replies;
  }

  push({ entry, kind }: Waiting): void {
    const { facts, key, call, at, principal, adapter } = entry;
    // A character takes three bytes of UTF-8 at most.
    this.#makeRoom(facts.length * 3);
    const length = this.#bytes.write(facts, this.#end);
    this.#end += length;
    this.#replies += replyLength(entry);
    this.#kept.push({ entry: { kind: entry.kind, call, at, principal, adapter, key }, kind, length });
  }

  /** The first `count`, or as many as there are. */
  take(count: number): Waiting[] {
    const taken = this.#kept.splice(0, count).map(({ entry, kind, length }): Waiting => {
      const facts = this.#bytes.toString('utf8', this.#start, this.#start + length);
      this.#start += length;
      this.#replies -= replyLength(entry);
      return { entry: { ...entry, facts }, kind };
    });
    if (this.#kept.length === 0) this.#empty();
    return taken;
  }

  #empty(): void {
    this.#start = 0;
    this.#end = 0;
    if (this.#bytes.length > keptRoom) this.#bytes = Buffer.allocUnsafeSlow(usualRoom);
  }

  /** For so many bytes behind the others, which go to the front for it where half of the memory is free, else to new memory. */
  #makeRoom(length: number): void {
    if (this.#end + length <= this.#bytes.length) return;
    const used = this.#bytes.subarray(this.#start, this.#end);
    const needed = 2 * (used.length + length);
    if (needed > this.#bytes.length) this.#bytes = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.set(used);
    this.#start = 0;
    this.#end = used.length;
  }
}

function replyLength({ key }: Pick<UnchainedEntry, 'key'>): number {
  return key?.kind === 'conclude' ? (key.reply?.length ?? 0) : 0;
}
