const nothing: Buffer = Buffer.alloc(0);

/**
 * Bytes that come in pieces, or as text, and are wanted whole. A single piece is kept as it is; several are copied together, for a piece that is kept
 * takes some hundred bytes beside its own, of which there may be one.
 */
export class GatheredBytes {
  #bytes: Buffer = nothing;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(piece: Buffer): void {
    if (this.#length === 0) this.#bytes = piece;
    else {
      this.#makeRoom(piece.length);
      piece.copy(this.#bytes, this.#length);
    }
    this.#length += piece.length;
  }

  /** In UTF-8. */
  addText(text: string): void {
    // A character takes three bytes at most.
    this.#makeRoom(3 * text.length);
    this.#length += this.#bytes.write(text, this.#length);
  }

  /** All of them, and begins anew. */
  take(): Buffer {
    const whole = this.#length === this.#bytes.length ? this.#bytes : this.#bytes.subarray(0, this.#length);
    this.#bytes = nothing;
    this.#length = 0;
    return whole;
  }

  #makeRoom(room: number): void {
    const length = this.#length + room;
    // What is full is the first piece, which is not ours to write into, or has been outgrown.
    if (length > this.#bytes.length) this.#bytes = grown(this.#bytes, this.#length, 2 * length);
  }
}

function grown(bytes: Buffer, length: number, room: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(room);
  bytes.copy(larger, 0, 0, length);
  return larger;
}
