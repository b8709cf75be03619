import type { LimitReached } from '#base/limits.ts';
import type { SchemaFault } from './schema-fault.ts';
import type { SchemaRequest, SchemaVerdict } from './schema-judge.ts';
import { ThreadPool, turnOf } from './thread-pool.ts';

/** `person`: whose turn it is. Absent: waits as long as it takes. */
interface AskedSchema extends SchemaRequest {
  readonly person?: string | undefined;
}

/**
 * Holds values against JSON Schemas in threads of their own, so that no schema and no value can hold up or end the gateway. Schemas are of
 * JSON Schema 2020-12; `definitions`, `dependencies` and the list form of `items` of draft-07 work as well. Other documents are not fetched.
 */
export interface SchemaThreads {
  /** Never rejects because of the schema or the value: one that takes too long is a fault. Rejects where the threads are closed, and with `overloaded` (503). */
  judge(request: AskedSchema): Promise<SchemaVerdict>;
  /** As `judge`, with the problems as sentences that begin with the place: `/vlan must be at most 4094`. */
  problemsOf(request: AskedSchema): Promise<readonly string[] | SchemaFault>;
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
