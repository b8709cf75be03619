/** The owner of a resource closes it: a test by its context `t`, or a whole file by `{ after }` of node:test. */
export interface Owner {
  after(close: () => void | Promise<void>): void;
}
