import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JqBatches } from './jq-batches.ts';
import type { JqRequest } from './jq-worker.ts';

test('inputs of one iteration of the event loop are one request, although a thread is free for each', async () => {
  const requests: JqRequest[] = [];
  const batches = new JqBatches(async (request) => {
    requests.push(request());
    const { input } = requests.at(-1) ?? { input: '' };
    return { kind: 'ended', stdout: input, stderr: '', exitCode: 0 };
  });
  const run = async (input: string): Promise<string> => {
    const end = await batches.run({ program: '.', input, lines: 1 });
    return end.kind === 'ended' ? end.stdout : end.detail;
  };
  assert.deepEqual(await Promise.all(['1', '2', '3'].map(run)), ['1', '2', '3']);
  assert.equal(await run('4'), '4');
  assert.deepEqual(
    requests.map(({ input }) => input),
    ['1\n2\n3', '4'],
  );
});
