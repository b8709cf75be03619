import { write, writeSync } from 'node:fs';
import { GatheredBytes } from './gathered-bytes.ts';
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
  #waiting = new GatheredBytes();
  /** Bytes that are being written. */
  #underWay = 0;
  #lost = 0;
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
    if (this.#underWay + this.#waiting.length + Buffer.byteLength(line) > this.#options.room) {
      this.#lost += 1;
      return;
    }
    this.#waiting.addText(line);
    this.#goOn();
  }

  /** Begins to write what waits, unless that is under way. */
  flush(): void {
    if (this.#underWay > 0 || this.#waiting.length === 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const bytes = this.#waiting.take();
    this.#underWay = bytes.length;
    write(this.#options.descriptor, bytes, (error, written) => {
      this.#underWay = 0;
      this.#wrote(bytes, error === null ? written : 0, error);
      this.#failing = error !== null;
      this.#goOn();
    });
  }

  /** The process ends: writes what waits before it returns, as far as that can be written; a reader that is slow has a second. */
  end(): void {
    for (let tries = 0; tries < 50 && this.#waiting.length > 0; ) {
      const bytes = this.#waiting.take();
      try {
        this.#wrote(bytes, writeSync(this.#options.descriptor, bytes), null);
      } catch (error) {
        if (systemCode(error) !== 'EAGAIN') return;
        this.#putBack(bytes);
        tries += 1;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      }
    }
  }

  #wrote(bytes: Buffer, written: number, error: NodeJS.ErrnoException | null): void {
    if (error?.code === 'EPIPE') {
      this.#readerLeft = true;
      this.#waiting.take();
      return;
    }
    if (written < bytes.length) this.#putBack(bytes.subarray(written));
    else if (error === null && this.#lost > 0) {
      const count = this.#lost;
      this.#lost = 0;
      this.write(this.#options.lostLine(count));
    }
  }

  /** In front of what waits. */
  #putBack(bytes: Buffer): void {
    const later = this.#waiting.take();
    this.#waiting.add(bytes);
    this.#waiting.add(later);
  }

  #goOn(): void {
    if (this.#waiting.length >= together && !this.#failing) this.flush();
    else if (this.#waiting.length > 0) this.#later();
  }

  #later(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.flush();
    }, pause).unref();
  }
}
