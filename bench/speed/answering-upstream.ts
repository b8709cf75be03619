import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Owner } from '../../test/support/owner.ts';
import { start, temporaryDirectory } from './child.ts';
import type { Order, Served } from './load.ts';

/** The upstream and the load of every measurement, in processes of their own. */
export interface Surroundings {
  /** `http://127.0.0.1:PORT` of the upstream. */
  readonly upstream: string;
  /** Makes calls. Rejects where one fails, or where the upstream got another number of requests than were answered. */
  load(order: Order): Promise<Served>;
  /** Makes the same check for other calls. */
  exactly<T extends { readonly calls: number }>(work: () => Promise<T>): Promise<T>;
  /** Starts a further process that makes calls, for work within `exactly`. */
  newLoad(): Surroundings['load'];
}

/** Milliseconds that the upstream and the load have in addition to the time of a load. */
const patience = 120_000;

/** The path of a file in this folder. */
export function program(file: string): string {
  return join(import.meta.dirname, file);
}

export async function startSurroundings(owner: Owner): Promise<Surroundings> {
  const directory = temporaryDirectory(owner);
  const upstream = await start(owner, { command: process.execPath, args: [program('upstream.ts')], directory, ipc: true });
  const arrived = async (): Promise<number> => Number(await ask(upstream.child, 'count'));
  const exactly: Surroundings['exactly'] = async (work) => {
    const before = await arrived();
    const done = await work();
    const came = (await arrived()) - before;
    if (came !== done.calls) throw new Error(`${done.calls} calls were answered, but ${came} came to the upstream`);
    return done;
  };
  const newLoad = (): Surroundings['load'] => {
    const loader = fork(program('load.ts'));
    owner.after(() => void loader.kill());
    return async (order) => {
      const { served, error } = (await ask(loader, order)) as { readonly served?: Served; readonly error?: string };
      if (served === undefined) throw new Error(`a call failed: ${error}`);
      return served;
    };
  };
  const load = newLoad();
  return { upstream: `http://127.0.0.1:${upstream.port}`, exactly, newLoad, load: (order) => exactly(() => load(order)) };
}

async function ask(child: ChildProcess, question: Order | 'count'): Promise<unknown> {
  const time = question === 'count' ? 0 : question.milliseconds;
  const answer = once(child, 'message', { signal: AbortSignal.timeout(time + patience) });
  child.send(question);
  return ((await answer) as readonly unknown[])[0];
}
