import { Worker } from 'node:worker_threads';
import { GatewayError } from '#base/gateway-error.ts';
import { Semaphore } from '#base/semaphore.ts';
import { systemCode } from '#base/system-code.ts';
import type { JudgedDocument, LoadedDocument, ReadingRequest, WorkflowJudgement } from './reading-messages.ts';

/** Reads workflow documents in threads, so that no document holds up the gateway. */
export interface ReadingThreads {
  /**
   * `principal`: who asks, by its unique id; each has one reading at a time. A document that takes too long or too much memory has
   * a problem that says so. Rejects with `overloaded` (503) where the wait for a thread is too long.
   */
  read(request: JudgedDocument & { readonly principal: string }): Promise<WorkflowJudgement>;
  /** Reads a document that was judged before, without its expressions. Waits for no reading of `read`, and as long as it takes. */
  load(text: string): Promise<LoadedDocument>;
  /** Ends the threads; readings in progress reject. */
  close(): Promise<void>;
}

/** Readings at once, for each kind. A document may take all of a processor for seconds. */
const readingsAtOnce = 2;
/** Milliseconds that a reading waits for those of the same principal, and then for a thread. */
const readingWait = 10_000;

interface ReadingLimits {
  /** Milliseconds of one reading, without the wait for a thread. */
  readonly timeLimit?: number;
  /** MiB. */
  readonly memoryLimit?: number;
}

export function createReadingThreads({ timeLimit = 20_000, memoryLimit = 256 }: ReadingLimits = {}): ReadingThreads {
  const permits = new Semaphore(readingsAtOnce);
  const loads = new Semaphore(readingsAtOnce);
  const ofPrincipals = new Map<string, Semaphore>();
  const running = new Set<Worker>();
  let closed = false;
  const wait = { limit: readingWait, late: tooManyReadings };
  const readNow = async <Answer>(request: ReadingRequest): Promise<Answer | TooLarge> => {
    if (closed) throw new Error('the threads that read workflows are closed');
    const worker = new Worker(new URL('./reading-worker.ts', import.meta.url), {
      workerData: request,
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: memoryLimit },
    });
    running.add(worker);
    const timer = setTimeout(() => void worker.terminate(), timeLimit);
    try {
      const end = await endOf<Answer>(worker);
      if (end.kind === 'read') return end.answer;
      if (end.kind === 'failed' && systemCode(end.error) !== 'ERR_WORKER_OUT_OF_MEMORY') throw end.error;
      if (closed) throw new Error('the threads that read workflows are closed');
      const limit = end.kind === 'failed' ? `${memoryLimit} MiB of memory` : `${timeLimit / 1000} s`;
      return tooLarge(limit);
    } finally {
      clearTimeout(timer);
      running.delete(worker);
      await worker.terminate();
    }
  };
  return {
    async read({ principal, ...request }) {
      const own = ofPrincipals.get(principal) ?? new Semaphore(1);
      ofPrincipals.set(principal, own);
      try {
        return await own.run(
          () => permits.run(() => readNow<WorkflowJudgement>({ purpose: 'judge', ...request }), { ...wait, group: principal }),
          wait,
        );
      } finally {
        if (own.free > 0) ofPrincipals.delete(principal);
      }
    },
    load: (text) => loads.run(() => readNow<LoadedDocument>({ purpose: 'load', text })),
    async close() {
      closed = true;
      await Promise.all([...running].map((worker) => worker.terminate()));
    },
  };
}

type TooLarge = Extract<WorkflowJudgement, { readonly problems: unknown }>;

type ReadingEnd<Answer> =
  | { readonly kind: 'read'; readonly answer: Answer }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'ended' };

function endOf<Answer>(worker: Worker): Promise<ReadingEnd<Answer>> {
  const { promise, resolve } = Promise.withResolvers<ReadingEnd<Answer>>();
  worker.once('message', (answer: Answer) => resolve({ kind: 'read', answer }));
  worker.once('error', (error) => resolve({ kind: 'failed', error }));
  worker.once('exit', () => resolve({ kind: 'ended' }));
  return promise;
}

function tooLarge(limit: string): TooLarge {
  const detail = `the document cannot be read within ${limit}; split it into several workflows`;
  return { problems: [{ pointer: '', detail, line: 1, column: 1 }], warnings: [] };
}

function tooManyReadings(): GatewayError {
  const detail = `The gateway reads other workflows now: this one waited ${readingWait / 1000} seconds; try again later.`;
  return new GatewayError('overloaded', detail, { headers: { 'Retry-After': '10' } });
}
