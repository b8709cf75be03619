import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { Semaphore } from '#base/semaphore.ts';
import type { JqAnswer, JqRequest, JqWorkerData } from './jq-messages.ts';

interface JqThreadsOptions {
  readonly threads: number;
  /** Milliseconds. */
  readonly timeLimit: number;
  /** Bytes. */
  readonly memoryLimit: number;
}

/** `failed`: the program took too long or too much memory, and its thread was ended. */
type JqEnd =
  | { readonly kind: 'ended'; readonly stdout: string; readonly stderr: string; readonly exitCode: number }
  | { readonly kind: 'failed'; readonly detail: string };

/** Threads that run jq, each lent to one program at a time, in the order of the calls. */
export class JqThreads {
  readonly #options: JqThreadsOptions;
  readonly #permits: Semaphore;
  readonly #all = new Set<Worker>();
  readonly #idle: Worker[] = [];
  #module: Promise<WebAssembly.Module> | undefined;
  #closed = false;

  constructor(options: JqThreadsOptions) {
    this.#options = options;
    this.#permits = new Semaphore(options.threads);
  }

  run(request: JqRequest): Promise<JqEnd> {
    return this.#permits.run(async () => {
      if (this.#closed) throw closed();
      const worker = this.#idle.pop() ?? (await this.#start());
      return await this.#ask(worker, request);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#all].map((worker) => worker.terminate()));
  }

  async #ask(worker: Worker, request: JqRequest): Promise<JqEnd> {
    const { timeLimit, memoryLimit } = this.#options;
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      this.#end(worker);
    }, timeLimit);
    try {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread, not a window
      worker.postMessage(request);
      const answer = await answerOf(worker);
      if (answer !== undefined && !('aborted' in answer)) {
        this.#keep(worker, answer.memory);
        return { kind: 'ended', ...answer };
      }
      if (this.#closed) throw closed();
      const detail = late
        ? `the expression took longer than ${timeLimit} ms`
        : `the expression could not be evaluated within ${memoryLimit / 1024 ** 2} MiB of memory`;
      this.#end(worker);
      return { kind: 'failed', detail };
    } finally {
      clearTimeout(timer);
    }
  }

  async #start(): Promise<Worker> {
    this.#module ??= compiledJq();
    const data: JqWorkerData = { module: await this.#module, memoryLimit: this.#options.memoryLimit };
    if (this.#closed) throw closed();
    // Standard output and error of the thread go nowhere: Emscripten writes there when jq aborts.
    const worker = new Worker(new URL('./jq-worker.ts', import.meta.url), {
      workerData: data,
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    });
    this.#all.add(worker);
    worker.unref();
    worker.once('exit', () => this.#all.delete(worker));
    const ready = await answerOf(worker);
    if (ready === undefined) throw new Error('the thread of jq did not start');
    return worker;
  }

  /** The memory of a thread only grows: one that took much is replaced, so that the next program has all of its limit. */
  #keep(worker: Worker, memory: number): void {
    if (this.#closed || memory > this.#options.memoryLimit / 2) this.#end(worker);
    else this.#idle.push(worker);
  }

  #end(worker: Worker): void {
    void worker.terminate();
  }
}

function closed(): Error {
  return new Error('the expression pool is closed');
}

/** The next message of a worker; undefined where it ends before. */
async function answerOf(worker: Worker): Promise<JqAnswer | undefined> {
  const { promise, resolve } = Promise.withResolvers<JqAnswer | undefined>();
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

async function compiledJq(): Promise<WebAssembly.Module> {
  return await WebAssembly.compile(await readFile(fileURLToPath(import.meta.resolve('jq-wasm/jq.wasm'))));
}
