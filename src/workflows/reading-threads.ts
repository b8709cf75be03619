import { GatewayError } from '#base/gateway-error.ts';
import { Semaphore } from '#base/semaphore.ts';
import { systemCode } from '#base/system-code.ts';
import type { CallSite, RunSite } from './call-sites.ts';
import type { WorkflowReading } from './read-workflow.ts';
import type { WorkflowProblem } from './reader/reading.ts';
import { type ThreadEnd, ThreadPool } from './thread-pool.ts';
import type { FunctionName, Workflow } from './workflow.ts';

/** `load`: a document that was judged before. Answered by the workflow itself. */
export type ReadingRequest =
  | ({ readonly purpose: 'judge' } & JudgedDocument)
  | { readonly purpose: 'load'; readonly text: string };

export interface JudgedDocument {
  readonly text: string;
  /** YAML, of which JSON is a part, or JSON alone. */
  readonly mediaType: 'application/json' | 'application/yaml';
  /** Names of adapter instances. Absent: not known, and then not judged. */
  readonly adapters?: readonly string[];
}

/** What the catalogue needs to know of a workflow. */
export interface WorkflowFacts {
  readonly id: string;
  readonly version: string;
  readonly title?: string;
  /** The document as JSON text. */
  readonly definition: string;
  /** What it may call (`operationsOf`). */
  readonly functions: readonly FunctionName[];
  readonly workflows: readonly RunSite[];
  /** Names of the secrets that it may use. Absent: it was stored before the gateway noted them. */
  readonly secrets?: readonly string[];
  /** Where it calls. Absent: it was stored before the gateway noted that. */
  readonly calls?: readonly CallSite[];
}

/** The facts of a workflow, or every problem of its document. */
export type WorkflowJudgement =
  | { readonly facts: WorkflowFacts; readonly warnings: readonly WorkflowProblem[] }
  | Extract<WorkflowReading, { readonly problems: unknown }>;

/** The workflow of a document that was judged before, or its problems under the rules of today. */
export type LoadedDocument = { readonly workflow: Workflow } | { readonly problems: readonly WorkflowProblem[] };

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
  const openPool = <Answer>(): ThreadPool<ReadingRequest, Answer> =>
    new ThreadPool({
      name: 'the pool of threads that read workflows',
      file: new URL('./reading-worker.ts', import.meta.url),
      threads: readingsAtOnce,
      timeLimit,
      memoryLimit,
      // No document finds the memory that another one left.
      keeps: () => false,
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

/** The answer of a thread, or a problem that names the limit. Throws for a fault of the thread. */
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
