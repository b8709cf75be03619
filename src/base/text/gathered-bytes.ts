const nothing: Buffer = Buffer.alloc(0);

/**
 * Joins bytes that arrive in pieces. A single piece is kept without a copy. Several are copied into one buffer. A kept piece
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
      // A full buffer is the first piece, which belongs to its sender, or has no room left.
      if (this.#length + piece.length > this.#bytes.length) this.#bytes = grow(this.#bytes, 2 * (this.#length + piece.length));
      piece.copy(this.#bytes, this.#length);
    }
    this.#length += piece.length;
  }

  /** Returns all bytes and starts again with none. */
  take(): Buffer {
    const whole = this.#length === this.#bytes.length ? this.#bytes : this.#bytes.subarray(0, this.#length);
    this.#bytes = nothing;
    this.#length = 0;
    return whole;
  }
}

function grow(bytes: Buffer, room: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(room);
  bytes.copy(larger);
  return larger;
}
