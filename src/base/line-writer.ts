import { write, writeSync } from 'node:fs';
import { systemCode } from './system-code.ts';
import { GatheredBytes } from './text/gathered-bytes.ts';

/** Lines are written together: up to this many bytes, and at most `pause` milliseconds after the first one came. */
const together = 60_000;
const pause = 100;

interface LineWriterOptions {
  /** Of an open file, pipe or terminal. */
  readonly descriptor: number;
  /** Bytes that may wait while writing fails. Further lines are lost. */
  readonly room: number;
  /** Makes the line that reports how many lines were lost; it is written once writing works again. */
  readonly lostLine: (count: number) => string;
}

/**
 * Writes lines asynchronously, many in one write, because each write wakes a thread. On a full disk the lines wait and the write is
 * repeated; the callers of `write` do not wait.
 */
export class LineWriter {
  readonly #options: LineWriterOptions;
  #waiting = new GatheredBytes();
  /** Bytes that are being written. */
  #underWay = 0;
  #lost = 0;
  /** The last write failed: the next one waits for the timer. */
  #failing = false;
  #readerLeft = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LineWriterOptions) {
    this.#options = options;
  }

  /** `line` includes its line break. */
  write(line: string): void {
    if (this.#readerLeft) return;
    const bytes = Buffer.from(line);
    if (this.#underWay + this.#waiting.length + bytes.length > this.#options.room) {
      this.#lost += 1;
      return;
    }
    this.#waiting.add(bytes);
    this.#goOn();
  }

  /** Starts to write the waiting lines, unless a write is under way. */
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

  /** For the end of the process: writes the waiting lines before it returns. A slow reader gets one second; other errors end the attempt. */
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

  /** Puts bytes in front of the waiting lines. */
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
