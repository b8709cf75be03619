import type { Worker } from 'node:worker_threads';
import { Semaphore } from '#base/semaphore.ts';

interface LentThreadsOptions<Answer> {
  /** What the threads do, for errors: `the expression pool`. */
  readonly name: string;
  /** At most; each starts when it is needed. */
  readonly threads: number;
  /** Milliseconds of one request, without the wait for a thread. */
  readonly timeLimit: number;
  /** Starts a thread, which posts a message when it is ready, and then one answer to each request. */
  readonly start: () => Worker | Promise<Worker>;
  /** False where the thread has to be replaced after this answer. */
  readonly keeps: (answer: Answer) => boolean;
}

/** `late`: the time limit passed. `ended`: the thread ended itself, for example because it took too much memory. */
type LentEnd<Answer> = { readonly kind: 'answered'; readonly answer: Answer } | { readonly kind: 'late' | 'ended' };

/** Threads that are each lent to one request at a time, in the order of the calls. A thread that does not answer in time is replaced. */
export class LentThreads<Request, Answer> {
  readonly #options: LentThreadsOptions<Answer>;
  readonly #permits: Semaphore;
  readonly #all = new Set<Worker>();
  readonly #idle: Worker[] = [];
  #closed = false;

  constructor(options: LentThreadsOptions<Answer>) {
    this.#options = options;
    this.#permits = new Semaphore(options.threads);
  }

  /** `request` is called once there is a thread for it. Rejects where the threads are closed. */
  run(request: () => Request): Promise<LentEnd<Answer>> {
    return this.#permits.run(async () => {
      this.#refuseClosed();
      const worker = this.#idle.pop() ?? (await this.#start());
      return await this.#ask(worker, request());
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#all].map((worker) => worker.terminate()));
  }

  async #ask(worker: Worker, request: Request): Promise<LentEnd<Answer>> {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      end(worker);
    }, this.#options.timeLimit);
    try {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread, not a window
      worker.postMessage(request);
      const message = await messageOf(worker);
      if (message === undefined) {
        this.#refuseClosed();
        end(worker);
        return { kind: late ? 'late' : 'ended' };
      }
      const answer = message as Answer;
      if (!this.#closed && this.#options.keeps(answer)) this.#idle.push(worker);
      else end(worker);
      return { kind: 'answered', answer };
    } finally {
      clearTimeout(timer);
    }
  }

  async #start(): Promise<Worker> {
    const worker = await this.#options.start();
    this.#all.add(worker);
    worker.unref();
    worker.once('exit', () => this.#all.delete(worker));
    // Its end says enough. An error without a listener would end the gateway.
    worker.on('error', () => {});
    if (this.#closed) end(worker);
    const ready = await messageOf(worker);
    this.#refuseClosed();
    if (ready === undefined) throw new Error(`a thread of ${this.#options.name} did not start`);
    return worker;
  }

  #refuseClosed(): void {
    if (this.#closed) throw new Error(`${this.#options.name} is closed`);
  }
}

function end(worker: Worker): void {
  void worker.terminate();
}

/** The next message of a worker, never undefined; undefined where the worker ends before. */
async function messageOf(worker: Worker): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const ended = (): void => resolve(undefined);
  worker.once('message', resolve);
  worker.once('exit', ended);
  worker.once('error', ended);
  try {
    return await promise;
  } finally {
    worker.off('message', resolve);
    worker.off('exit', ended);
    worker.off('error', ended);
  }
}
