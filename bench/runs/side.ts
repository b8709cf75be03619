import type { JobName } from './jobs.ts';
import type { StoreUse } from './stored-runs.ts';

/** Runs that one of the engines does at once, which is the default of the gateway. */
export const tasks = 32;
/** Runs that are created at once. */
export const creators = 32;

export interface Order {
  readonly job: JobName;
  readonly count: number;
  /** `http://127.0.0.1:PORT` of the upstream. */
  readonly far: string;
}

/** An engine of runs, as a process of its own with a store of its own. */
export interface Side {
  readonly name: string;
  readonly pid: number;
  /** The first process of its server; undefined on SQLite. */
  readonly serverPid: number | undefined;
  /** The server belongs to the engine: its memory counts. */
  readonly hasOwnServer?: true;
  /** Creates runs, `creators` at a time. Resolves once all are created. */
  create(order: Order): Promise<void>;
  /** Runs in the store that ended well. Throws where a run failed. */
  ended(): Promise<number>;
  /** What its store holds and has done; absent where the store cannot be asked. */
  use?(): Promise<StoreUse>;
  /** Ends the process with SIGKILL and starts another one on the store. */
  replace(): Promise<void>;
}

/** Creates runs, and waits until all have ended well. Answers the seconds that took. */
export async function finish(side: Side, order: Order): Promise<number> {
  const before = await side.ended();
  const began = performance.now();
  await side.create(order);
  const patience = performance.now() + 300_000;
  while ((await side.ended()) < before + order.count) {
    if (performance.now() > patience) throw new Error(`${side.name}: ${order.count} runs of ${order.job} did not end in 300 s`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return (performance.now() - began) / 1000;
}
