import type { Socket } from 'node:net';

/** Runs `work` after so many milliseconds, unless its connection is over by then. */
export type After = (milliseconds: number, work: () => void) => void;

/** One direction of a connection: what is pushed arrives in order, and its end after it. */
export interface Pump {
  push(chunk: Buffer): void;
  end(): void;
}

interface PumpOptions {
  readonly to: Socket;
  readonly after: After;
  /** Milliseconds that everything arrives later. */
  readonly delay?: number;
  /** Milliseconds that the end alone arrives later. */
  readonly endDelay?: number;
  /** At most so many bytes at a time, with `pause` milliseconds in between. */
  readonly slice?: { readonly size: number; readonly pause: number };
}

/** A pump that is as slow as it is told to be. */
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
