/** Whoever owns a resource closes it: a test's context `t`, or a whole file by `{ after }` of node:test. */
export interface Owner {
  after(close: () => void | Promise<void>): void;
}
