import assert from 'node:assert/strict';
import { test } from 'node:test';
import { followEvents } from './follow.ts';

test('a stream that ends without an event is opened again after a pause', async () => {
  const leaving = new AbortController();
  const opened: Readonly<Record<string, string>>[] = [];
  const pauses: number[] = [];
  const events = followEvents({
    open: async (headers) => {
      opened.push(headers);
      // The second stream ends as well; without a pause there would be thousands.
      assert.ok(opened.length <= 2);
      return new Response(opened.length === 1 ? 'id: 7\ndata: {"type":"a"}\n\n' : '');
    },
    signal: leaving.signal,
    onInterruption: (_error, milliseconds) => {
      pauses.push(milliseconds);
      leaving.abort(new Error('the caller leaves'));
    },
  });
  assert.equal((await events.next()).value?.position, '7');
  await assert.rejects(events.next(), /the caller leaves/u);
  assert.deepEqual([opened[1]?.['Last-Event-ID'], pauses], ['7', [1_000]]);
});
