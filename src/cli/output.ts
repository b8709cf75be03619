import type { Writable } from 'node:stream';
import { systemCode } from '#base/system-code.ts';

/** Standard output cannot be written. */
export class OutputFailed extends Error {
  /** Its reader has what it wanted, as `head` has. */
  readonly readerLeft: boolean;

  constructor(cause: Error) {
    const code = systemCode(cause) ?? 'unknown error';
    super(`standard output cannot be written (${code})`, { cause });
    this.readerLeft = code === 'EPIPE';
  }
}

/** Writes to `stdout` as fast as it is read. Rejects with OutputFailed. */
export function writerTo(stdout: Writable): (text: string | Buffer) => Promise<void> {
  // A reader that leaves is told by the write that it misses; unheard, the event would end the process with a stack trace.
  stdout.on('error', () => {});
  return (text) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    stdout.write(text, (error) => (error ? reject(new OutputFailed(error)) : resolve()));
    return promise;
  };
}
