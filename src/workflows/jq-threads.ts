import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { JqAnswer, JqRequest, JqWorkerData } from './jq-messages.ts';
import { LentThreads } from './lent-threads.ts';

interface JqThreadsOptions {
  readonly threads: number;
  /** Milliseconds. */
  readonly timeLimit: number;
  /** Bytes. */
  readonly memoryLimit: number;
}

/** `failed`: the program took too long or too much memory, and its thread was ended. */
export type JqEnd =
  | { readonly kind: 'ended'; readonly stdout: string; readonly stderr: string; readonly exitCode: number }
  | { readonly kind: 'failed'; readonly detail: string };

/** Threads that run jq. */
export interface JqThreads {
  /** `request` is called once there is a thread for it. */
  run(request: () => JqRequest): Promise<JqEnd>;
  close(): Promise<void>;
}

export function createJqThreads({ threads, timeLimit, memoryLimit }: JqThreadsOptions): JqThreads {
  let module: Promise<WebAssembly.Module> | undefined;
  const start = async (): Promise<Worker> => {
    module ??= compiledJq();
    return startJq({ module: await module, memoryLimit });
  };
  // The memory of a thread only grows: one that took much is replaced, so that the next program has all of its limit.
  const keeps = (answer: JqAnswer): boolean => !('aborted' in answer) && answer.memory <= memoryLimit / 2;
  const lent = new LentThreads<JqRequest, JqAnswer>({ name: 'the expression pool', threads, timeLimit, start, keeps });
  return {
    async run(request) {
      const end = await lent.run(request);
      if (end.kind === 'answered' && !('aborted' in end.answer)) return { kind: 'ended', ...end.answer };
      const detail =
        end.kind === 'late'
          ? `the expression took longer than ${timeLimit} ms`
          : `the expression could not be evaluated within ${memoryLimit / 1024 ** 2} MiB of memory`;
      return { kind: 'failed', detail };
    },
    close: () => lent.close(),
  };
}

function startJq(data: JqWorkerData): Worker {
  // Standard output and error of the thread go nowhere: Emscripten writes there when jq aborts.
  return new Worker(new URL('./jq-worker.ts', import.meta.url), {
    workerData: data,
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
}

async function compiledJq(): Promise<WebAssembly.Module> {
  return await WebAssembly.compile(await readFile(fileURLToPath(import.meta.resolve('jq-wasm/jq.wasm'))));
}
