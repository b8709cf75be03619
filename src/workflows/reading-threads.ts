import { GatewayError } from '#base/gateway-error.ts';
import { Semaphore } from '#base/semaphore.ts';
import { systemCode } from '#base/system-code.ts';
import type { DocumentProblem } from '#yaml/document-reading.ts';
import type { CallSite, RunSite } from './call-operations.ts';
import type { WorkflowReading } from './read-workflow.ts';
import { type ThreadEnd, ThreadPool } from './thread-pool.ts';
import type { FunctionName, Workflow } from './workflow.ts';

/** `load`: judged before; answered by the workflow. */
export type ReadingRequest =
  | ({ readonly purpose: 'judge' } & JudgedDocument)
  | { readonly purpose: 'load'; readonly text: string };

export interface JudgedDocument {
  readonly text: string;
  readonly mediaType: 'application/json' | 'application/yaml';
  readonly adapters?: readonly string[];
}

/** What the catalogue keeps of a workflow. */
export interface WorkflowFacts {
  readonly id: string;
  readonly version: string;
  readonly title?: string;
  readonly definition: string;
  readonly functions: readonly FunctionName[];
  readonly workflows: readonly RunSite[];
  /** Absent: stored before the gateway noted them. */
  readonly secrets?: readonly string[];
  /** Absent: stored before the gateway noted them. */
  readonly calls?: readonly CallSite[];
}

export type WorkflowJudgement =
  | { readonly facts: WorkflowFacts; readonly warnings: readonly DocumentProblem[] }
  | Extract<WorkflowReading, { readonly problems: unknown }>;

export type LoadedDocument = { readonly workflow: Workflow } | { readonly problems: readonly DocumentProblem[] };

/** Threads, so that no document blocks the gateway. */
export interface ReadingThreads {
  /** Each principal (unique id) has one reading at a time. Too much time or memory is a problem of the document. Rejects with `overloaded`. */
  read(request: JudgedDocument & { readonly principal: string }): Promise<WorkflowJudgement>;
  /** Without the expressions. Waits as long as it takes, but not for `read`. */
  load(text: string): Promise<LoadedDocument>;
  close(): Promise<void>;
}

/** Characters of a document after which its thread reads others. */
const shortDocument = 65_536;
/** Milliseconds that a thread waits for another document. */
const idleTime = 5_000;
/** For each kind. A document may take a whole processor for seconds. */
const readingsAtOnce = 2;
/** Milliseconds of each wait: for readings of the same principal, then for a thread. */
const readingWait = 10_000;

interface ReadingLimits {
  /** Milliseconds, without the wait for a thread. */
  readonly timeLimit?: number;
  /** MiB. */
  readonly memoryLimit?: number;
}

export function createReadingThreads({ timeLimit = 20_000, memoryLimit = 256 }: ReadingLimits = {}): ReadingThreads {
  const openPool = <Answer>(): ThreadPool<ReadingRequest, Answer> =>
    new ThreadPool({
      name: 'the pool of threads that read workflows',
      file: new URL('./reading-worker.ts', import.meta.url),
      threads: readingsAtOnce,
      timeLimit,
      memoryLimit,
      // A thread takes longer to start than to read a short document, which leaves the next one all of the memory.
      keeps: (_, { text }) => text.length <= shortDocument,
      idleTime,
    });
  const readings = openPool<WorkflowJudgement>();
  const loads = openPool<LoadedDocument>();
  const ofPrincipals = new Map<string, Semaphore>();
  const wait = { limit: readingWait, late: tooManyReadings };
  const limits = { timeLimit, memoryLimit };
  return {
    async read({ principal, ...document }) {
      const own = ofPrincipals.get(principal) ?? new Semaphore(1);
      ofPrincipals.set(principal, own);
      try {
        const request = { purpose: 'judge', ...document } as const;
        return answerOf(await own.run(() => readings.run(() => request, { ...wait, group: principal }), wait), limits);
      } finally {
        if (own.inFlight === 0) ofPrincipals.delete(principal);
      }
    },
    load: async (text) => answerOf(await loads.run(() => ({ purpose: 'load', text })), limits),
    async close() {
      await Promise.all([readings.close(), loads.close()]);
    },
  };
}

type TooLarge = Extract<WorkflowJudgement, { readonly problems: unknown }>;

/** Throws for a fault of the thread. */
function answerOf<Answer>(end: ThreadEnd<Answer>, { timeLimit, memoryLimit }: Required<ReadingLimits>): Answer | TooLarge {
  if (end.kind === 'answered') return end.answer;
  if (end.kind === 'ended' && systemCode(end.error) !== 'ERR_WORKER_OUT_OF_MEMORY') throw end.error;
  const limit = end.kind === 'ended' ? `${memoryLimit} MiB of memory` : `${timeLimit / 1000} s`;
  const detail = `the document cannot be read within ${limit}; split it into several workflows`;
  return { problems: [{ pointer: '', detail, line: 1, column: 1 }], warnings: [] };
}

function tooManyReadings(): GatewayError {
  const detail = `The gateway reads other workflows now: this one waited ${readingWait / 1000} seconds; try again later.`;
  return new GatewayError('overloaded', detail, { headers: { 'Retry-After': '10' } });
}
