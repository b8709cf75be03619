import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { JqAnswer, JqRequest, JqWorkerData } from './jq-worker.ts';
import { ThreadPool } from './thread-pool.ts';

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
  const pool = new ThreadPool<JqRequest, JqAnswer>({
    name: 'the expression pool',
    file: new URL('./jq-worker.ts', import.meta.url),
    threads,
    timeLimit,
    memoryLimit: 256,
    data: async (): Promise<JqWorkerData> => ({ module: await (module ??= compiledJq()), memoryLimit }),
    // The memory of jq only grows: a thread that took much is replaced, so that the next program has all of its limit.
    keeps: (answer) => !('aborted' in answer) && answer.memory <= memoryLimit / 2,
  });
  return {
    async run(request) {
      const end = await pool.run(request);
      if (end.kind === 'answered' && !('aborted' in end.answer)) return { kind: 'ended', ...end.answer };
      const detail =
        end.kind === 'late'
          ? `the expression took longer than ${timeLimit} ms`
          : `the expression could not be evaluated within ${memoryLimit / 1024 ** 2} MiB of memory`;
      return { kind: 'failed', detail };
    },
    close: () => pool.close(),
  };
}

async function compiledJq(): Promise<WebAssembly.Module> {
  return await WebAssembly.compile(await readFile(fileURLToPath(import.meta.resolve('jq-wasm/jq.wasm'))));
}
