const nothing: Buffer = Buffer.alloc(0);

/**
 * Bytes that come in pieces and are wanted whole. A single piece is kept as it is; several are copied together, for a piece that is kept
 * takes some hundred bytes beside its own, of which there may be one.
 */
export class GatheredBytes {
  #bytes: Buffer = nothing;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (this.#length === 0) this.#bytes = piece;
    else {
      // What is full is the first piece, which is not ours to write into, or has been outgrown.
      if (length > this.#bytes.length) this.#bytes = grown(this.#bytes, this.#length, 2 * length);
      piece.copy(this.#bytes, this.#length);
    }
    this.#length = length;
  }

  /** All of them, and begins anew. */
  take(): Buffer {
    const whole = this.#length === this.#bytes.length ? this.#bytes : this.#bytes.subarray(0, this.#length);
    this.#bytes = nothing;
    this.#length = 0;
    return whole;
  }
}

function grown(bytes: Buffer, length: number, room: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(room);
  bytes.copy(larger, 0, 0, length);
  return larger;
}
