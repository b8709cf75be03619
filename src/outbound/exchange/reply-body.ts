import { GatewayError } from '#base/gateway-error.ts';
import { GatheredBytes } from '#base/text/gathered-bytes.ts';
import { wholeReplyLimit } from '../call/outbound-call.ts';

/** Bytes. A piece of any size costs microseconds and hundreds of bytes. */
const pieceSize = 16_384;

/** Bytes; beyond them reading from the upstream pauses. */
const queueLimit = 262_144;

export interface ReplyBodySource {
  /** Called once, with the whole body or exactly its first 64 KiB. */
  headArrived(head: Buffer, complete: boolean): void;
  pause(): void;
  resume(): void;
  /** Closes the connection. */
  abort(reason: Error): void;
}

/** Collects up to 64 KiB for `headArrived`, then passes the rest on with backpressure. `limit`: decoded bytes. */
export class ReplyBody {
  readonly #limit: number;
  readonly #source: ReplyBodySource;
  #chunks: Buffer[] = [];
  /** After the chunks, fewer than a piece. */
  readonly #small = new GatheredBytes();
  #waiting = 0;
  #total = 0;
  #headGiven = false;
  #ended = false;
  #paused = false;
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(limit: number, source: ReplyBodySource) {
    this.#limit = limit;
    this.#source = source;
  }

  /** Decoded bytes. */
  get received(): number {
    return this.#total;
  }

  push(chunk: Buffer): void {
    if (this.#failure !== undefined) return;
    this.#total += chunk.length;
    if (this.#total > this.#limit) {
      this.#source.abort(tooLarge(this.#limit));
      return;
    }
    this.#keep(chunk);
    if (!this.#headGiven) {
      if (this.#total > wholeReplyLimit) this.#giveHead(false);
      return;
    }
    if (this.#waiting > queueLimit && !this.#paused) {
      this.#paused = true;
      this.#source.pause();
    }
    this.#wakeReader();
  }

  #keep(chunk: Buffer): void {
    this.#waiting += chunk.length;
    if (this.#small.length > 0 && this.#small.length + chunk.length > pieceSize) this.#chunks.push(this.#small.take());
    if (chunk.length > pieceSize) this.#chunks.push(chunk);
    else this.#small.add(chunk);
  }

  /** Gives the head now, before any byte. */
  giveAsItComes(): void {
    this.#giveHead(false);
  }

  end(): void {
    this.#ended = true;
    if (this.#headGiven) this.#wakeReader();
    else this.#giveHead(true);
  }

  /** The reader gets it after the bytes before it. */
  fail(failure: Error): void {
    this.#failure ??= failure;
    this.#wakeReader();
  }

  /** To be read once. */
  async *rest(): AsyncGenerator<Buffer, void, undefined> {
    try {
      while (true) {
        const chunk = this.#next();
        if (chunk !== undefined) yield chunk;
        else if (this.#failure !== undefined) throw this.#failure;
        else if (this.#ended) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      if (!this.#ended) this.#source.abort(new Error('the reply was not read to its end'));
    }
  }

  /** Exactly 64 KiB: the rendering must not depend on how the network cut the body. */
  #giveHead(complete: boolean): void {
    this.#headGiven = true;
    const last = this.#small.take();
    const [only = last] = this.#chunks;
    const taken = only.length === this.#waiting ? only : Buffer.concat([...this.#chunks, last], this.#waiting);
    this.#chunks = [];
    this.#waiting = 0;
    const head = complete ? taken : taken.subarray(0, wholeReplyLimit);
    if (taken.length > head.length) {
      this.#chunks = [taken.subarray(head.length)];
      this.#waiting = taken.length - head.length;
    }
    this.#source.headArrived(head, complete);
  }

  /** Reading from the upstream resumes once half of the queue is free. */
  #next(): Buffer | undefined {
    if (this.#waiting === 0) return undefined;
    const taken = this.#chunks.shift() ?? this.#small.take();
    this.#waiting -= taken.length;
    if (this.#paused && this.#waiting <= queueLimit / 2) {
      this.#paused = false;
      this.#source.resume();
    }
    return taken;
  }

  #wakeReader(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}

export function tooLarge(limit: number): GatewayError {
  return new GatewayError(
    'response-too-large',
    `The reply of the upstream is over the limit of ${limit} bytes (responseLimit). Ask for less, or have the limit raised.`,
  );
}
