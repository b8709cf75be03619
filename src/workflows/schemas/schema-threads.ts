import type { LimitReached } from '#base/limits.ts';
import { ThreadPool, turnOf } from '../thread-pool.ts';
import type { SchemaFault } from './schema-fault.ts';
import type { SchemaRequest, SchemaVerdict } from './schema-worker.ts';

interface AskedSchema extends SchemaRequest {
  readonly person?: string | undefined;
}

/** Judges values in threads. JSON Schema 2020-12, with `definitions`, `dependencies` and lists in `items` of draft-07; fetches nothing. */
export interface SchemaThreads {
  /** Too long is a fault, no rejection. Rejects where the threads are closed, and with `overloaded`. */
  judge(request: AskedSchema): Promise<SchemaVerdict>;
  /** As sentences that begin with the place: `/vlan must be at most 4094`. */
  problemsOf(request: AskedSchema): Promise<readonly string[] | SchemaFault>;
  close(): Promise<void>;
}

interface SchemaThreadsOptions {
  readonly threads: number;
  /** Milliseconds, without the wait for a thread. */
  readonly timeLimit?: number;
  /** MiB of a thread. */
  readonly memoryLimit?: number;
  readonly limitReached?: LimitReached;
}

export function createSchemaThreads({
  threads,
  timeLimit = 1_000,
  memoryLimit = 64,
  limitReached,
}: SchemaThreadsOptions): SchemaThreads {
  const pool = new ThreadPool<SchemaRequest, SchemaVerdict>({
    name: 'the pool of schema threads',
    file: new URL('./schema-worker.ts', import.meta.url),
    threads,
    timeLimit,
    memoryLimit,
  });
  const judge = async ({ person, ...request }: AskedSchema): Promise<SchemaVerdict> => {
    const end = await pool.run(() => request, turnOf(person, limitReached));
    if (end.kind === 'answered') return end.answer;
    const limit = end.kind === 'late' ? `${timeLimit} ms` : `${memoryLimit} MiB of memory`;
    return {
      fault: { pointer: '', detail: `no value could be judged within ${limit}; simplify the schema or shorten the value` },
    };
  };
  return {
    judge,
    async problemsOf(request) {
      const verdict = await judge(request);
      if ('fault' in verdict) return verdict.fault;
      return verdict.problems.map(({ pointer, detail }) => `${pointer === '' ? 'the value' : pointer} ${detail}`);
    },
    close: () => pool.close(),
  };
}
