/** The thread of one jq: evaluates one program at a time. Started by `expression-pool.ts`. */
import { workerData } from 'node:worker_threads';
import { loadJq } from 'jq-wasm';
import { cutText } from '#base/text/cut-text.ts';
import { answerRequests } from '../thread-pool.ts';
import { withinLimits } from './jq-program.ts';

export interface JqWorkerData {
  readonly module: WebAssembly.Module;
  /** Bytes. */
  readonly memoryLimit: number;
}

export interface JqRequest {
  readonly program: string;
  /** JSON text; empty: compile only. */
  readonly input: string;
}

/** `memory`: bytes so far. `aborted`: jq is broken. */
export type JqAnswer =
  | { readonly stdout: string; readonly stderr: string; readonly exitCode: number; readonly memory: number }
  | { readonly aborted: true };

const { module, memoryLimit } = workerData as JqWorkerData;

let memory = 0;

// jq has no limit of its own. A refused growth aborts it, which ends this thread.
const { prototype } = WebAssembly.Memory;
// oxlint-disable-next-line typescript/unbound-method -- called with its memory below
const { grow } = prototype;
prototype.grow = function (pages) {
  const size = this.buffer.byteLength + pages * 65_536;
  if (size > memoryLimit) throw new RangeError('the memory of jq may not grow further');
  memory = size;
  return grow.call(this, pages);
};

const jq = await loadJq({ wasmModule: module });

answerRequests(({ program, input }: JqRequest): JqAnswer => {
  try {
    const { stdout, stderr, exitCode } = jq.raw(input, program, ['-c']);
    return { stdout: input === '' ? stdout : withinLimits(stdout), stderr: cutText(stderr), exitCode, memory };
  } catch {
    return { aborted: true };
  }
});
