import { parentPort, Worker } from 'node:worker_threads';
import { GatewayError } from '#base/gateway-error.ts';
import type { LimitReached } from '#base/limits.ts';
import { type Patience, Semaphore } from '#base/semaphore.ts';

interface ThreadPoolOptions<Answer> {
  /** What the threads do, for errors: `the expression pool`. */
  readonly name: string;
  /** The file of the threads, which calls `answerRequests`. */
  readonly file: URL;
  /** At most; each starts when it is needed. */
  readonly threads: number;
  /** Milliseconds of one request, without the wait for a thread. */
  readonly timeLimit: number;
  /** MiB of a thread. */
  readonly memoryLimit: number;
  /** Makes the `workerData` of a thread. */
  readonly data?: () => Promise<unknown>;
  /** False where the thread has to be replaced after this answer. */
  readonly keeps?: (answer: Answer) => boolean;
}

/** `late`: the time limit passed. `ended`: the thread ended itself, with an error as a rule: it took too much memory, or has a fault. */
export type ThreadEnd<Answer> =
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'late' }
  | { readonly kind: 'ended'; readonly error: unknown };

/** Milliseconds that a request of a person waits for a thread. */
const longestWait = 10_000;

/**
 * How a request waits for a thread: persons take turns, and after ten seconds it is refused (`overloaded`). Without a person it waits as long
 * as it takes.
 */
export function turnOf(person: string | undefined, limitReached?: LimitReached): Patience | undefined {
  if (person === undefined) return undefined;
  const late = (): GatewayError => {
    limitReached?.('threads');
    const detail = `The threads of the gateway are busy with the work of others: this one waited ${longestWait / 1_000} s. Try again later.`;
    return new GatewayError('overloaded', detail, { headers: { 'Retry-After': '1' } });
  };
  return { group: person, limit: longestWait, late };
}

/** Threads that each have one request at a time, in the order of the calls. A thread that does not answer in time is replaced. */
export class ThreadPool<Request, Answer> {
  readonly #options: ThreadPoolOptions<Answer>;
  readonly #permits: Semaphore;
  readonly #all = new Set<Worker>();
  readonly #idle: Worker[] = [];
  #closed = false;

  constructor(options: ThreadPoolOptions<Answer>) {
    this.#options = options;
    this.#permits = new Semaphore(options.threads);
  }

  /** `request` is called once there is a thread for it. Rejects where the pool is closed, or where the wait for a thread is too long. */
  run(request: () => Request, wait?: Parameters<Semaphore['run']>[1]): Promise<ThreadEnd<Answer>> {
    return this.#permits.run(async () => {
      this.#refuseClosed();
      const worker = this.#idle.pop() ?? (await this.#start());
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
      if (!this.#closed && keeps(answer)) this.#idle.push(worker);
      else void worker.terminate();
      return { kind: 'answered', answer };
    }
    this.#refuseClosed();
    void worker.terminate();
    return isLate ? { kind: 'late' } : { kind: 'ended', error: message.error };
  }

  async #start(): Promise<Worker> {
    const { name, file, memoryLimit, data } = this.#options;
    const workerData = await data?.();
    this.#refuseClosed();
    const worker = new Worker(file, {
      workerData,
      // What a thread writes goes nowhere: Emscripten does so when jq aborts.
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

/** In a thread of a pool: says that it is ready, and answers one request after another. */
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

/** The next message of a worker, or the error that ended it before, which is undefined where it ended without one. */
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
