/** The thread of one jq: evaluates one program at a time. Started by `expression-pool.ts`, which ends it where it takes too long. */
import { parentPort, workerData } from 'node:worker_threads';
import { loadJq } from 'jq-wasm';
import type { JqAnswer, JqRequest, JqWorkerData } from './jq-messages.ts';

const { module, memoryLimit } = workerData as JqWorkerData;
const port = parentPort;
if (port === null) throw new Error('jq-worker.ts runs as a worker thread only');

/** Bytes of the memory of jq, which only grows. */
let memory = 0;

// jq has no limit of its own. A refused growth is an abort of jq, which ends this thread.
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

port.on('message', ({ program, input }: JqRequest) => {
  let answer: JqAnswer;
  try {
    const { stdout, stderr, exitCode } = jq.raw(input, program, ['-c']);
    answer = { stdout, stderr, exitCode, memory };
  } catch {
    answer = { aborted: true };
  }
  port.postMessage(answer);
});
port.postMessage({ ready: true });
