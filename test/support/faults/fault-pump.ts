import type { Socket } from 'node:net';

/** Runs `work` after so many milliseconds, unless its connection has ended by then. */
export type After = (milliseconds: number, work: () => void) => void;

/** One direction of a connection: forwards chunks in order, and the end after them. */
export interface Pump {
  push(chunk: Buffer): void;
  end(): void;
}

interface PumpOptions {
  readonly to: Socket;
  readonly after: After;
  /** Milliseconds by which chunks and end are delayed. */
  readonly delay?: number;
  /** More milliseconds by which the end is delayed. */
  readonly endDelay?: number;
  /** At most so many bytes at a time, with `pause` milliseconds in between. */
  readonly slice?: { readonly size: number; readonly pause: number };
}

/** Makes a pump with these delays. */
export function createPump({ to, after, delay = 0, endDelay = 0, slice }: PumpOptions): Pump {
  const waiting: (Buffer | 'end')[] = [];
  let busy = false;
  const write = (piece: Buffer | 'end'): void => {
    if (to.destroyed || to.writableEnded) return;
    if (piece === 'end') to.end();
    else to.write(piece);
  };
  const later = (piece: Buffer | 'end'): void => {
    const wait = delay + (piece === 'end' ? endDelay : 0);
    if (wait === 0) write(piece);
    else after(wait, () => write(piece));
  };
  const next = (): void => {
    const piece = waiting.shift();
    busy = piece !== undefined;
    if (piece === undefined) return;
    later(piece);
    after(slice?.pause ?? 0, next);
  };
  const add = (piece: Buffer | 'end'): void => {
    if (slice === undefined) {
      later(piece);
      return;
    }
    waiting.push(piece);
    if (!busy) next();
  };
  return {
    push: (chunk) => {
      const size = slice?.size ?? chunk.length;
      for (let at = 0; at < chunk.length; at += size) add(chunk.subarray(at, at + size));
    },
    end: () => add('end'),
  };
}
