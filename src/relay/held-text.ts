const nothing: Buffer = Buffer.alloc(0);
/** A buffer longer than this is not kept for what is held next. */
const keptCapacity = 256 * 1024;

/**
 * The text of a stream that comes in parts: the part at hand, and before it what is held of earlier ones. Offsets are the
 * stream's. Only what is held beyond its part is copied.
 */
export class HeldText {
  #part = nothing;
  #partStart = 0;
  /** What is held begins at `#from`, -1 for nothing, and is in `#held` up to `#heldTo`. */
  #from = -1;
  #heldTo = -1;
  #held = nothing;

  /** The bytes to look at, and the offset of the first of them. */
  bytes = nothing;
  base = 0;

  get isHolding(): boolean {
    return this.#from >= 0;
  }

  get from(): number {
    return this.#from;
  }

  get partEnd(): number {
    return this.#partStart + this.#part.length;
  }

  beginPart(part: Buffer, start: number): void {
    this.#part = part;
    this.#partStart = start;
    this.#showPart();
  }

  hold(start: number): void {
    this.#from = start;
    this.#heldTo = start;
    this.#showPart();
  }

  release(): void {
    this.#from = -1;
    if (this.#held.length > keptCapacity) this.#held = nothing;
  }

  /** Makes `bytes` reach from where the text is held to `end`, which is not beyond the part. */
  reach(end: number): void {
    // All of it is in the part itself.
    if (this.#from >= this.#partStart) return;
    this.#append(end);
    this.bytes = this.#held;
    this.base = this.#from;
  }

  /** Copies what is held of the part, and says how many bytes are held now. */
  keep(): number {
    this.#append(this.partEnd);
    return this.#heldTo - this.#from;
  }

  #showPart(): void {
    this.bytes = this.#part;
    this.base = this.#partStart;
  }

  #append(end: number): void {
    const length = this.#heldTo - this.#from;
    const added = end - this.#heldTo;
    if (length + added > this.#held.length) {
      const grown = Buffer.allocUnsafe(Math.max(2 * this.#held.length, length + added, 1024));
      this.#held.copy(grown, 0, 0, length);
      this.#held = grown;
    }
    const from = this.#heldTo - this.#partStart;
    this.#part.copy(this.#held, length, from, from + added);
    this.#heldTo = end;
  }
}
