import type { UnchainedEntry } from './hash-chain.ts';

/** An entry that waits to be written. */
export interface Waiting {
  readonly entry: UnchainedEntry;
  /**
   * `ahead`: its call waits until it is durable. `awaited`: its caller waits, but a failure of the store does not reject it.
   * `background`: no call waits for it.
   */
  readonly kind: 'ahead' | 'awaited' | 'background';
  readonly promise?: { readonly resolve: () => void; readonly reject: (error: Error) => void };
}

/** An entry without its facts; `length` is the size of the facts in bytes. */
interface Kept extends Pick<Waiting, 'kind'> {
  readonly entry: Omit<UnchainedEntry, 'facts'>;
  readonly length: number;
}

/**
 * Bytes of memory for facts: the initial size, which doubles as needed. Memory above the second size is freed when it is empty.
 */
const initialMemory = 65_536;
const keptMemory = 8 * 1024 ** 2;

/**
 * Entries that no call waits for, in the order of arrival. Their facts are kept as bytes outside V8's heap. Thousands of strings
 * that live for half a second would be copied twice by collections of the young generation, and then fill the old generation.
 */
export class WaitingEntries {
  readonly #kept: Kept[] = [];
  #bytes: Buffer = Buffer.allocUnsafeSlow(initialMemory);
  /** Where the kept facts begin and end in `#bytes`. */
  #start = 0;
  #end = 0;
  /** Total length in characters of the replies in the entries. */
  #replies = 0;

  get count(): number {
    return this.#kept.length;
  }

  /** The bytes of the facts, plus the characters of the replies. */
  get size(): number {
    return this.#end - this.#start + this.#replies;
  }

  push({ entry, kind }: Waiting): void {
    const { facts, key, call, at, principal, adapter, approval } = entry;
    // A UTF-16 code unit takes at most three bytes of UTF-8.
    this.#makeRoom(facts.length * 3);
    const length = this.#bytes.write(facts, this.#end);
    this.#end += length;
    this.#replies += replyLength(entry);
    this.#kept.push({ entry: { kind: entry.kind, call, at, principal, adapter, approval, key }, kind, length });
  }

  /** Removes and returns the first `count` entries, or all if there are fewer. */
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
    if (this.#bytes.length > keptMemory) this.#bytes = Buffer.allocUnsafeSlow(initialMemory);
  }

  /**
   * Makes room for `length` bytes at the end. If half of the memory is free, moves the facts to the front; otherwise moves them
   * to new memory.
   */
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
  return key?.kind === 'end' ? (key.reply?.length ?? 0) : 0;
}
