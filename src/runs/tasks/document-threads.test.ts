import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { errorOf, outputOf, taskGateway } from '../../../test/support/runs/call-tasks.ts';
import { httpReply, jsonReply } from '../../../test/support/upstreams/upstream.ts';
import { createDocumentThreads } from './document-threads.ts';

const threads = createDocumentThreads(() => {});
after(() => threads.close());

/** A YAML document that takes the parser half a second or more. */
const slow = Buffer.from(`a:\n${'  - {b: 1, c: [2, 3]}\n'.repeat(9_000)}`);
const small = Buffer.from('a: 1.0\n');

/** The longest time that the event loop stood still during `work`. */
async function maxPause(work: () => Promise<unknown>): Promise<number> {
  let [longest, last] = [0, performance.now()];
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }, 5);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return longest;
}

test('a document that takes long to read holds up neither the event loop nor the documents of others', async (t) => {
  const ended: string[] = [];
  const read = async (bytes: Buffer, person: string): Promise<void> => {
    const answer = await threads.read(bytes, person);
    assert.ok('json' in answer, JSON.stringify(answer).slice(0, 200));
    ended.push(person);
  };
  await threads.read(small, 'warm');
  const pause = await maxPause(() =>
    Promise.all([...Array.from({ length: 4 }, () => read(slow, 'eve')), read(small, 'ann'), read(small, 'bob')]),
  );
  t.diagnostic(`the event loop stood still for ${Math.round(pause)} ms at most`);
  assert.ok(ended.indexOf('ann') < 2 && ended.indexOf('bob') < 3, ended.join(' '));
});

test('a document of 8 MiB is read, and a longer one fails its task with the limit', async (t) => {
  const gateway = await taskGateway(t);
  const openapi = (length: number): string => {
    const head = '{"openapi":"3.0.0","paths":{"/a":{"get":{"operationId":"a"}}},"x":"';
    return `${head}${'x'.repeat(length - head.length - 2)}"}`;
  };
  let length = 8 * 1024 ** 2;
  gateway.far.answer(({ target }) =>
    target === '/spec'
      ? httpReply({ body: openapi(length), headers: { 'Content-Type': 'application/json' } })
      : jsonReply('{"n":1}'),
  );
  const call = (activity: number) =>
    gateway.perform('openapi', { document: { endpoint: `${gateway.far.url}/spec` }, operationId: 'a' }, { activity });
  assert.deepEqual(outputOf(await call(1)), { n: 1 });
  length += 1;
  const other = await taskGateway(t, { far: gateway.far });
  const long = await other.perform('openapi', { document: { endpoint: `${gateway.far.url}/spec` }, operationId: 'a' });
  assert.match(String(errorOf(long)[2]), /8 MiB/u);
});
