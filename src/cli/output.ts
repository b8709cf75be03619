import type { Writable } from 'node:stream';
import { systemCode } from '#base/system-code.ts';

/** Standard output cannot be written. */
export class OutputFailed extends Error {
  /** The reader closed the pipe, as `head` does when it has its lines. */
  readonly readerLeft: boolean;

  constructor(cause: Error) {
    const code = systemCode(cause) ?? 'unknown error';
    super(`standard output cannot be written (${code})`, { cause });
    this.readerLeft = code === 'EPIPE';
  }
}

/**
 * Resolves when the text is written. Rejects with OutputFailed. `stdout` also emits an `error` event, which its owner has to
 * handle.
 */
export function print(stdout: Writable, text: string | Buffer): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  stdout.write(text, (error) => (error ? reject(new OutputFailed(error)) : resolve()));
  return promise;
}

/** As `print`, but for output that must not decide the result of the command: resolves with the error instead of rejecting. */
export async function tryPrint(stdout: Writable, text: string): Promise<OutputFailed | undefined> {
  try {
    await print(stdout, text);
    return undefined;
  } catch (error) {
    if (error instanceof OutputFailed) return error;
    throw error;
  }
}
