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

/** Resolves once it is written. Rejects with OutputFailed; that `stdout` says so as an event, too, is for whoever owns it to hear. */
export function print(stdout: Writable, text: string | Buffer): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  stdout.write(text, (error) => (error ? reject(new OutputFailed(error)) : resolve()));
  return promise;
}

/** As `print`, for what is done whether it can be told or not: answers why it could not. */
export async function tryPrint(stdout: Writable, text: string): Promise<OutputFailed | undefined> {
  try {
    await print(stdout, text);
    return undefined;
  } catch (error) {
    if (error instanceof OutputFailed) return error;
    throw error;
  }
}
