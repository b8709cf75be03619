import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { until } from '../../test/support/until.ts';
import { ThreadPool } from './thread-pool.ts';

/** Answers the number of its thread. */
const code = `import { parentPort, threadId } from 'node:worker_threads';
parentPort.on('message', () => parentPort.postMessage(threadId));
parentPort.postMessage('ready');`;

function openPool(t: TestContext, idleTime?: number): (request: string) => Promise<number> {
  const pool = new ThreadPool<string, number>({
    name: 'the pool',
    file: new URL(`data:text/javascript,${encodeURIComponent(code)}`),
    threads: 1,
    timeLimit: 60_000,
    memoryLimit: 64,
    keeps: (_, request) => request === 'short',
    ...(idleTime !== undefined && { idleTime }),
  });
  t.after(() => pool.close());
  return async (request) => {
    const end = await pool.run(() => request);
    assert.equal(end.kind, 'answered');
    return end.kind === 'answered' ? end.answer : 0;
  };
}

test('a thread takes requests until one after which it is not kept', async (t) => {
  const ask = openPool(t);
  const first = await ask('short');
  assert.equal(await ask('long'), first);
  assert.notEqual(await ask('short'), first);
});

test('a thread without requests ends after its idle time, and the next request gets another one', async (t) => {
  const ask = openPool(t, 1);
  let last = await ask('short');
  await until('another thread answers', async () => {
    const before = last;
    last = await ask('short');
    return last !== before;
  });
});
