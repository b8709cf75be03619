import { write, writeSync } from 'node:fs';
import { systemCode } from './system-code.ts';

/** Lines up to this many bytes are written together, `pause` milliseconds after the first at the latest. */
const together = 60_000;
const pause = 100;

interface LineWriterOptions {
  /** Of an open file, pipe or terminal. */
  readonly descriptor: number;
  /** Bytes that wait while nothing can be written; what comes beyond is lost. */
  readonly room: number;
  /** The line that says how many were lost, once lines can be written again. */
  readonly lostLine: (count: number) => string;
}

/**
 * Writes lines behind whoever hands them over, many at a time: each write wakes a thread. A full disk holds nobody up: the lines wait, and
 * are tried again. sonic-boom, pino's own, ends the process there, and on the way out tries for ever (4.2, `flushSync`).
 */
export class LineWriter {
  readonly #options: LineWriterOptions;
  #waiting: Buffer[] = [];
  /** Bytes that wait, those that are being written included. */
  #size = 0;
  #lost = 0;
  #writing = false;
  /** The last write failed: another try waits for its time. */
  #failing = false;
  #readerLeft = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LineWriterOptions) {
    this.#options = options;
  }

  /** `line` with its line break. */
  write(line: string): void {
    if (this.#readerLeft) return;
    const bytes = Buffer.from(line);
    if (this.#size + bytes.length > this.#options.room) {
      this.#lost += 1;
      return;
    }
    this.#waiting.push(bytes);
    this.#size += bytes.length;
    if (this.#size >= together && !this.#failing) this.flush();
    else this.#later();
  }

  /** Begins to write what waits, unless that is under way. */
  flush(): void {
    if (this.#writing || this.#waiting.length === 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const bytes = this.#taken();
    this.#writing = true;
    write(this.#options.descriptor, bytes, (error, written) => {
      this.#writing = false;
      this.#wrote(bytes, error === null ? written : 0, error);
      this.#failing = error !== null;
      if (this.#size >= together && !this.#failing) this.flush();
      else if (this.#size > 0) this.#later();
    });
  }

  /** The process ends: writes what waits before it returns, as far as that can be written; a reader that is slow has a second. */
  end(): void {
    for (let tries = 0; tries < 50 && this.#waiting.length > 0; ) {
      const bytes = this.#taken();
      try {
        this.#wrote(bytes, writeSync(this.#options.descriptor, bytes), null);
      } catch (error) {
        if (systemCode(error) !== 'EAGAIN') return;
        this.#waiting.unshift(bytes);
        tries += 1;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      }
    }
  }

  #taken(): Buffer {
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    return bytes;
  }

  #wrote(bytes: Buffer, written: number, error: NodeJS.ErrnoException | null): void {
    this.#size -= written;
    if (error?.code === 'EPIPE') {
      this.#readerLeft = true;
      this.#waiting = [];
      this.#size = 0;
      return;
    }
    if (written < bytes.length) this.#waiting.unshift(bytes.subarray(written));
    else if (error === null && this.#lost > 0) {
      const count = this.#lost;
      this.#lost = 0;
      this.write(this.#options.lostLine(count));
    }
  }

  #later(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.flush();
    }, pause).unref();
  }
}
