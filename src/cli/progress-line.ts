import type { Writable } from 'node:stream';
import { type Clock, systemClock } from '#base/clock.ts';

interface ProgressLineOptions {
  readonly stderr: Writable;
  /** Of the terminal; undefined shows nothing. */
  readonly columns: number | undefined;
  /** Only tests hand in another one. */
  readonly clock?: Clock;
}

/** One line at a terminal that is written over as the work goes on. */
interface ProgressLine {
  /** `text` is told the milliseconds since the line was made, and called only when it is time to show it. */
  show(text: (elapsed: number) => string): void;
  /** Leaves an empty line; before anything else is written there. */
  clear(): void;
}

/** Milliseconds between two writings: more often is only flicker. */
const refresh = 100;

/** Back to the first column, and erase what stands there (ECMA-48 8.3.41, EL). */
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
      // A line that wraps could not be erased; in its last column some terminals wrap already.
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
