import type { SchemaFault } from './schema-fault.ts';
import type { SchemaRequest, SchemaVerdict } from './schema-judge.ts';
import { ThreadPool } from './thread-pool.ts';

/**
 * Holds values against JSON Schemas in threads of their own, so that no schema and no value can hold up or end the gateway. Schemas are of
 * JSON Schema 2020-12; `definitions`, `dependencies` and the list form of `items` of draft-07 work as well. Other documents are not fetched.
 */
export interface SchemaThreads {
  /** Never rejects because of the schema or the value: one that takes too long is a fault. Rejects where the threads are closed. */
  judge(request: SchemaRequest): Promise<SchemaVerdict>;
  /** As `judge`, with the problems as sentences that begin with the place: `/vlan must be at most 4094`. */
  problemsOf(request: SchemaRequest): Promise<readonly string[] | SchemaFault>;
  /** Ends the threads; judgements in progress reject. */
  close(): Promise<void>;
}

interface SchemaThreadsOptions {
  /** Threads at most; each starts when it is needed. */
  readonly threads: number;
  /** Milliseconds of one judgement, without the wait for a thread. */
  readonly timeLimit?: number;
  /** MiB of a thread. */
  readonly memoryLimit?: number;
}

export function createSchemaThreads({ threads, timeLimit = 1_000, memoryLimit = 64 }: SchemaThreadsOptions): SchemaThreads {
  const pool = new ThreadPool<SchemaRequest, SchemaVerdict>({
    name: 'the pool of schema threads',
    file: new URL('./schema-worker.ts', import.meta.url),
    threads,
    timeLimit,
    memoryLimit,
  });
  const judge = async (request: SchemaRequest): Promise<SchemaVerdict> => {
    const end = await pool.run(() => request);
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
