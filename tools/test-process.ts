/**
 * One of the processes of `npm test`: runs each test file that the parent names, one after the other. A file is a test, whose subtests
 * are those of the file, so that its hooks run before the next file begins.
 */
import { on } from 'node:events';
import { test } from 'node:test';

/** What this process tells the parent when it can take a file. */
export interface FileEnd {
  /** Undefined before the first file. */
  readonly file?: string;
  /** Of the processor, in all threads of this process. */
  readonly seconds: number;
}

/** What the parent answers. */
export interface NextFile {
  /** Undefined where no file is left. */
  readonly file: string | undefined;
  /** The stores of `eachStore`. */
  readonly stores: 'every' | 'sqlite';
}

/** Milliseconds for a file. */
const limit = 600_000;

const tell = (end: FileEnd): unknown => process.send?.(end);
tell({ seconds: 0 });
for await (const [{ file, stores }] of on(process, 'message') as AsyncIterable<[NextFile]>) {
  if (file === undefined) break;
  process.env['TEST_STORES'] = stores;
  const before = process.cpuUsage();
  await test(file, { timeout: limit }, async () => {
    await import(file);
  });
  const { user, system } = process.cpuUsage(before);
  tell({ file, seconds: (user + system) / 1e6 });
}
