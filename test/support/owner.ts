import { after } from 'node:test';

/** The owner of a resource closes it: a test by its context `t`, or a whole file by `{ after }` of node:test. */
export interface Owner {
  after(close: () => void | Promise<void>): void;
}

/** The file or suite in which it is called. Closes what it owns after its tests, the last one first: for parts that need earlier ones. */
export function suiteOwner(): Owner {
  const closers: (() => void | Promise<void>)[] = [];
  after(async () => {
    for (const close of closers) await close();
  });
  return { after: (close) => void closers.unshift(close) };
}
