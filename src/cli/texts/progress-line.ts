import type { Writable } from 'node:stream';
import { type Clock, systemClock } from '#base/clock.ts';

interface ProgressLineOptions {
  readonly stderr: Writable;
  /** Width of the terminal; undefined: show nothing. */
  readonly columns: number | undefined;
  /** Tests replace it. */
  readonly clock?: Clock;
}

/** One line of a terminal that is overwritten while the work continues. */
interface ProgressLine {
  /** Calls `text` with the milliseconds since the line was created, but only when the line is due for an update. */
  show(text: (elapsed: number) => string): void;
  /** Erases the line. Call it before other output to the terminal. */
  clear(): void;
}

/** Milliseconds between updates: more frequent ones would only flicker. */
const refresh = 100;

/** Moves to the first column and erases the line (ECMA-48, 8.3.41, EL). */
const emptyLine = '\r\u001b[2K';

export function createProgressLine({ stderr, columns, clock = systemClock }: ProgressLineOptions): ProgressLine {
  const started = clock.monotonic();
  let shownAt: number | undefined;
  return {
    show(text) {
      if (columns === undefined) return;
      const now = clock.monotonic();
      if (shownAt !== undefined && now - shownAt < refresh) return;
      shownAt = now;
      // A line that wraps cannot be erased, and some terminals wrap a line that reaches their last column.
      stderr.write(`${emptyLine}${text(now - started).slice(0, Math.max(0, columns - 1))}`);
    },
    clear() {
      if (shownAt === undefined) return;
      shownAt = undefined;
      stderr.write(emptyLine);
    },
  };
}

/** `12,345` */
export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

/** `1 line`, `12,345 lines`. */
export function counted(count: number, one: string): string {
  return `${grouped(count)} ${one}${count === 1 ? '' : 's'}`;
}

/** `12,345 lines, 6.1 MiB, 3.4 MiB/s` */
export function flow({
  lines,
  bytes,
  elapsed,
}: {
  readonly lines: number;
  readonly bytes: number;
  readonly elapsed: number;
}): string {
  const mebibytes = bytes / 1024 ** 2;
  const rate = elapsed === 0 ? 0 : mebibytes / (elapsed / 1000);
  return `${counted(lines, 'line')}, ${mebibytes.toFixed(1)} MiB, ${rate.toFixed(1)} MiB/s`;
}
