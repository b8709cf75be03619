const nothing: Buffer = Buffer.alloc(0);

/**
 * Joins bytes that arrive in pieces or as text. A single piece is kept without a copy. Several are copied into one buffer. A kept piece
 * costs some hundred bytes of memory in addition to its own bytes, which may be a single one.
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

  /** Adds the text in UTF-8. */
  addText(text: string): void {
    // One UTF-16 unit takes at most three bytes in UTF-8.
    this.#makeRoom(3 * text.length);
    this.#length += this.#bytes.write(text, this.#length);
  }

  /** Returns all bytes and starts again with none. */
  take(): Buffer {
    const whole = this.#length === this.#bytes.length ? this.#bytes : this.#bytes.subarray(0, this.#length);
    this.#bytes = nothing;
    this.#length = 0;
    return whole;
  }

  #makeRoom(room: number): void {
    const length = this.#length + room;
    // A full buffer is the first piece, which belongs to its sender, or has no room left.
    if (length > this.#bytes.length) this.#bytes = grown(this.#bytes, this.#length, 2 * length);
  }
}

function grown(bytes: Buffer, length: number, room: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(room);
  bytes.copy(larger, 0, 0, length);
  return larger;
}
