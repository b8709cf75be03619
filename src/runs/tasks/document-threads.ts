import { GatewayError } from '#base/gateway-error.ts';
import type { LimitReached } from '#base/limits.ts';
import { Semaphore } from '#base/semaphore.ts';
import { ThreadPool } from '#workflows/thread-pool.ts';
import type { OpenApiOperation } from './described-operation.ts';

export type DocumentQuestion =
  | { readonly purpose: 'read'; readonly bytes: Uint8Array }
  | { readonly purpose: 'find'; readonly json: string; readonly operationId: string; readonly address: string };

export type DocumentAnswer = { readonly json: string } | { readonly operation: OpenApiOperation } | { readonly problem: string };

export type DocumentThreads = ReturnType<typeof createDocumentThreads>;

/** Documents that are read at once, of different persons. */
const readingsAtOnce = 2;
/** Milliseconds of one reading, without the wait for a thread; and MiB of a thread. */
const limits = { timeLimit: 10_000, memoryLimit: 256 };

/** Reads documents of upstreams in threads, so that none holds up the gateway. A person has one reading at a time, and waits for its turn. */
export function createDocumentThreads(limitReached: LimitReached) {
  const pool = new ThreadPool<DocumentQuestion, DocumentAnswer>({
    name: 'the pool of threads that read documents',
    file: new URL('./document-worker.ts', import.meta.url),
    threads: readingsAtOnce,
    ...limits,
  });
  const ofPersons = new Map<string, Semaphore>();
  const ask = async (question: DocumentQuestion, person: string): Promise<DocumentAnswer> => {
    const own = ofPersons.get(person) ?? new Semaphore(1);
    ofPersons.set(person, own);
    if (own.inFlight > 0) limitReached('documents');
    try {
      const end = await own.run(() => pool.run(() => question, { group: person }));
      if (end.kind === 'answered') return end.answer;
      const limit = end.kind === 'late' ? `${limits.timeLimit / 1_000} s` : `${limits.memoryLimit} MiB of memory`;
      return { problem: `it cannot be read within ${limit}` };
    } finally {
      if (own.inFlight === 0) ofPersons.delete(person);
    }
  };
  return {
    /** A document as JSON text, with the digits of its numbers. A problem does not quote the text. */
    async read(bytes: Buffer, person: string): Promise<{ readonly json: string } | { readonly problem: string }> {
      const answer = await ask({ purpose: 'read', bytes }, person);
      return 'json' in answer || 'problem' in answer ? answer : { problem: 'it has no text' };
    },
    /** Throws `invalid-request` where the document or the operation cannot be used. */
    async find(
      document: { readonly json: string; readonly address: string },
      operationId: string,
      person: string,
    ): Promise<OpenApiOperation> {
      const answer = await ask({ purpose: 'find', operationId, ...document }, person);
      if ('operation' in answer) return answer.operation;
      throw new GatewayError('invalid-request', 'problem' in answer ? answer.problem : 'The OpenAPI document cannot be read.');
    },
    /** Ends the threads; readings in progress reject. */
    close: (): Promise<void> => pool.close(),
  };
}
