import { GatewayError } from '#base/gateway-error.ts';
import { countStreamed } from '#base/young-generation.ts';
import { wholeReplyLimit } from './outbound-call.ts';

/** Chunks below this are put together as long as they stay below it: each piece costs some microseconds, whatever its size. */
const pieceSize = 16_384;

/** Bytes that wait for a slow reader before the far side is asked to pause. */
const queueLimit = 262_144;

export interface ReplyBodySource {
  /** The whole body (`complete`), or exactly its first 64 KiB; called once. */
  headArrived(head: Buffer, complete: boolean): void;
  pause(): void;
  resume(): void;
  /** The reply is refused or nobody reads it: close its connection. */
  abort(reason: Error): void;
}

/**
 * The body of one reply: collects up to 64 KiB, says so once to its source, and hands the rest on as it arrives,
 * with backpressure. Counts decoded bytes against `limit`.
 */
export class ReplyBody {
  readonly #limit: number;
  readonly #source: ReplyBodySource;
  #chunks: Buffer[] = [];
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

  /** Bytes that have arrived. */
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
    this.#chunks.push(chunk);
    this.#waiting += chunk.length;
    if (!this.#headGiven) {
      if (this.#total > wholeReplyLimit) this.#giveHead(false);
      return;
    }
    countStreamed(chunk.length);
    if (this.#waiting > queueLimit && !this.#paused) {
      this.#paused = true;
      this.#source.pause();
    }
    this.#wakeReader();
  }

  end(): void {
    this.#ended = true;
    if (this.#headGiven) this.#wakeReader();
    else this.#giveHead(true);
  }

  /** After the head: the reader gets the failure once it has read what came before. */
  fail(failure: Error): void {
    this.#failure ??= failure;
    this.#wakeReader();
  }

  /** What follows the head, once. */
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

  /** Exactly the first 64 KiB of a longer body: what it is judged to be may not depend on how it was cut on its way. */
  #giveHead(complete: boolean): void {
    this.#headGiven = true;
    const [first] = this.#chunks;
    const taken = first !== undefined && first.length === this.#waiting ? first : Buffer.concat(this.#chunks, this.#waiting);
    this.#chunks = [];
    this.#waiting = 0;
    const head = complete ? taken : taken.subarray(0, wholeReplyLimit);
    if (taken.length > head.length) {
      this.#chunks = [taken.subarray(head.length)];
      this.#waiting = taken.length - head.length;
    }
    this.#source.headArrived(head, complete);
  }

  /** What has waited longest: a large chunk as it is, small ones together. The far side goes on once half of the queue is free. */
  #next(): Buffer | undefined {
    const [first] = this.#chunks;
    if (first === undefined) return undefined;
    let count = 1;
    let length = first.length;
    for (let next = this.#chunks[1]; next !== undefined && length + next.length <= pieceSize; next = this.#chunks[count]) {
      length += next.length;
      count += 1;
    }
    const taken = this.#chunks.splice(0, count);
    this.#waiting -= length;
    if (this.#paused && this.#waiting <= queueLimit / 2) {
      this.#paused = false;
      this.#source.resume();
    }
    return count === 1 ? first : Buffer.concat(taken, length);
  }

  #wakeReader(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}

export function tooLarge(limit: number): GatewayError {
  return new GatewayError(
    'response-too-large',
    `The reply of the far side is over the limit of ${limit} bytes (responseLimit). Ask for less, or have the limit raised.`,
  );
}
