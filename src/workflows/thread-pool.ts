import { parentPort, Worker } from 'node:worker_threads';
import { GatewayError } from '#base/gateway-error.ts';
import type { LimitReached } from '#base/limits.ts';
import { type Patience, Semaphore } from '#base/semaphore.ts';

interface ThreadPoolOptions<Request, Answer> {
  /** For errors: `the expression pool`. */
  readonly name: string;
  /** Calls `answerRequests`. */
  readonly file: URL;
  readonly threads: number;
  /** Milliseconds, without the wait for a thread. */
  readonly timeLimit: number;
  /** MiB of a thread. */
  readonly memoryLimit: number;
  readonly data?: () => Promise<unknown>;
  /** False: replace the thread. */
  readonly keeps?: (answer: Answer, request: Request) => boolean;
  /** Milliseconds after which a thread without a request ends. Absent: never. */
  readonly idleTime?: number;
}

/** `ended`: by itself, such as for too much memory. */
export type ThreadEnd<Answer> =
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'late' }
  | { readonly kind: 'ended'; readonly error: unknown };

/** Milliseconds. */
const maxWait = 10_000;

/** People take turns, and are refused after ten seconds (`overloaded`). Without a person the wait has no limit. */
export function turnOf(person: string | undefined, limitReached?: LimitReached): Patience | undefined {
  if (person === undefined) return undefined;
  const late = (): GatewayError => {
    limitReached?.('threads');
    const detail = `The threads of the gateway are busy with the work of others: this one waited ${maxWait / 1_000} s. Try again later.`;
    return new GatewayError('overloaded', detail, { headers: { 'Retry-After': '1' } });
  };
  return { group: person, limit: maxWait, late };
}

/** One request per thread at a time, in the order of the calls. Replaces a thread that is late. */
export class ThreadPool<Request, Answer> {
  readonly #options: ThreadPoolOptions<Request, Answer>;
  readonly #permits: Semaphore;
  readonly #all = new Set<Worker>();
  readonly #idle: { readonly worker: Worker; readonly end: NodeJS.Timeout | undefined }[] = [];
  #closed = false;

  constructor(options: ThreadPoolOptions<Request, Answer>) {
    this.#options = options;
    this.#permits = new Semaphore(options.threads);
  }

  /** Calls `request` once a thread is free. Rejects where the pool is closed or the wait too long. */
  run(request: () => Request, wait?: Parameters<Semaphore['run']>[1]): Promise<ThreadEnd<Answer>> {
    return this.#permits.run(async () => {
      this.#refuseClosed();
      const idle = this.#idle.pop();
      clearTimeout(idle?.end);
      const worker = idle?.worker ?? (await this.#start());
      return await this.#ask(worker, request());
    }, wait);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#all].map((worker) => worker.terminate()));
  }

  async #ask(worker: Worker, request: Request): Promise<ThreadEnd<Answer>> {
    const { timeLimit, keeps = () => true } = this.#options;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      void worker.terminate();
    }, timeLimit);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread, not a window
    worker.postMessage(request);
    const message = await messageOf(worker);
    clearTimeout(timer);
    if ('answer' in message) {
      const answer = message.answer as Answer;
      if (!this.#closed && keeps(answer, request)) this.#rest(worker);
      else void worker.terminate();
      return { kind: 'answered', answer };
    }
    this.#refuseClosed();
    void worker.terminate();
    return isLate ? { kind: 'late' } : { kind: 'ended', error: message.error };
  }

  #rest(worker: Worker): void {
    const { idleTime } = this.#options;
    const end = (): void => {
      this.#idle.splice(
        this.#idle.findIndex((idle) => idle.worker === worker),
        1,
      );
      void worker.terminate();
    };
    this.#idle.push({ worker, end: idleTime === undefined ? undefined : setTimeout(end, idleTime).unref() });
  }

  async #start(): Promise<Worker> {
    const { name, file, memoryLimit, data } = this.#options;
    const workerData = await data?.();
    this.#refuseClosed();
    const worker = new Worker(file, {
      workerData,
      // Discarded: Emscripten writes when jq aborts.
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: memoryLimit, maxYoungGenerationSizeMb: memoryLimit / 4 },
    });
    this.#all.add(worker);
    worker.unref();
    worker.once('exit', () => this.#all.delete(worker));
    // An error without a listener would end the gateway.
    worker.on('error', () => {});
    const ready = await messageOf(worker);
    this.#refuseClosed();
    if ('error' in ready) throw new Error(`a thread of ${name} did not start`, { cause: ready.error });
    return worker;
  }

  #refuseClosed(): void {
    if (this.#closed) throw new Error(`${this.#options.name} is closed`);
  }
}

/** For the file of a thread. */
export function answerRequests(answer: (request: never) => unknown): void {
  const port = parentPort;
  if (port === null) throw new Error('this file runs as a worker thread only');
  const respond = async (request: unknown): Promise<void> => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of threads, not a window
    port.postMessage(await answer(request as never));
  };
  port.on('message', (request) => void respond(request));
  port.postMessage('ready');
}

type Message = { readonly answer: unknown } | { readonly error: unknown };

/** Or the error that ended the worker; undefined where it ended without one. */
async function messageOf(worker: Worker): Promise<Message> {
  const { promise, resolve } = Promise.withResolvers<Message>();
  const answered = (answer: unknown): void => resolve({ answer });
  const ended = (): void => resolve({ error: undefined });
  const failed = (error: unknown): void => resolve({ error });
  worker.once('message', answered).once('exit', ended).once('error', failed);
  try {
    return await promise;
  } finally {
    worker.off('message', answered).off('exit', ended).off('error', failed);
  }
}
