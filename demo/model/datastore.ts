import type { DataObject } from './data-tree.ts';

/** A commit that can be undone. */
export interface Rollback {
  readonly fixedNumber: number;
  readonly before: DataObject;
  readonly after: DataObject;
  readonly creator: string;
  readonly date: string;
  readonly label: string;
  readonly comment: string;
}

const keptRollbacks = 50;

/** The running datastore: one immutable tree, a number for each commit, the last 50 states, and a lock. */
export class Datastore {
  #root: DataObject;
  #commits = 0;
  #lastModified = new Date();
  #locked = false;
  readonly #started = Math.floor(Date.now() / 1000);
  readonly #rollbacks: Rollback[] = [];

  constructor(root: DataObject) {
    this.#root = root;
  }

  get root(): DataObject {
    return this.#root;
  }

  get lastModified(): Date {
    return this.#lastModified;
  }

  /** Id of the last commit to the whole datastore: the ETag without its format suffix. */
  get transactionId(): string {
    return `${String(this.#started)}-${String(this.#commits).padStart(6, '0')}`;
  }

  get locked(): boolean {
    return this.#locked;
  }

  set locked(locked: boolean) {
    this.#locked = locked;
  }

  /** Commits that can be undone, the newest first. */
  get rollbacks(): readonly Rollback[] {
    return this.#rollbacks;
  }

  /** Makes `next` the running configuration. Returns the fixed number by which the commit can be undone. */
  commit(next: DataObject, by: { readonly user: string; readonly label: string; readonly comment: string }): number {
    this.#commits += 1;
    this.#lastModified = new Date();
    const fixedNumber = 10_000 + this.#commits;
    const { user: creator, label, comment } = by;
    const date = this.#lastModified.toISOString();
    this.#rollbacks.unshift({ fixedNumber, before: this.#root, after: next, creator, date, label, comment });
    this.#rollbacks.splice(keptRollbacks);
    this.#root = next;
    return fixedNumber;
  }

  /** The tree for reads: the configuration with the list of rollbacks, which is state of the datastore itself. */
  readable(): DataObject {
    const file = this.#rollbacks.map(({ fixedNumber, creator, date, label, comment }, id) => ({
      id,
      'fixed-number': fixedNumber,
      creator,
      date,
      label,
      comment,
    }));
    return { ...this.#root, 'tailf-rollback:rollback-files': { file } };
  }
}
