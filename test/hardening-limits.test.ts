import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertProblem, restCall } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { farSide, jsonReply } from './support/far-sides/far-side.ts';
import { startGateway } from './support/gateway/start-gateway.ts';

// Rows 77 and 98 of docs/security.md: more work than the gateway can take, and more than a caller may ask for.

const far = await farSide({ after });
const call = { uri: far.url, verb: 'GET', responseHeaders: false };

test('R77: a gateway that falls behind refuses work with 503 and Retry-After, stays healthy, and recovers', {
  timeout: 110_000,
}, async (t) => {
  const gateway = await startGateway(t, { config: { outbound: { allow: [far.authority] } } });
  far.answer(() => jsonReply('{}'));
  const headers = { Authorization: `Bearer ${await gateway.tokenFor('admin')}` };
  const ask = (): Promise<Reply> => restCall(gateway, call, { headers });
  assert.equal((await ask()).status, 200);
  // The operating system holds the process up, as a machine with too much to do would: on for 40 ms, off for 500.
  const over = new AbortController();
  const holding = (async () => {
    while (!over.signal.aborted) {
      gateway.kill('SIGSTOP');
      await new Promise((resolve) => setTimeout(resolve, 500));
      gateway.kill('SIGCONT');
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
  })();
  t.after(() => over.abort());
  const until = async (status: number): Promise<Reply> => {
    const deadline = performance.now() + 45_000;
    for (;;) {
      const reply = await ask();
      if (reply.status === status) return reply;
      assert.ok(performance.now() < deadline, `still ${reply.status}`);
    }
  };
  const refused = await until(503);
  assertProblem(refused, 503, 'overloaded');
  assert.match(refused.header('retry-after') ?? '', /^[1-9]\d*$/);
  const health = await gateway.send({ target: '/healthz' });
  assert.equal(health.status, 200);
  over.abort();
  await holding;
  await until(200);
});

test('R98: a caller over its rate is 429 with Retry-After, and others are not affected', async (t) => {
  const rateLimit = { calls: 3, per: '1h' };
  const gateway = await startGateway(t, { config: { server: { rateLimit }, outbound: { allow: [far.authority] } } });
  far.answer(() => jsonReply('{}'));
  for (let at = 0; at < 3; at += 1) assert.equal((await restCall(gateway, call)).status, 200);
  const refused = await restCall(gateway, call);
  assertProblem(refused, 429, 'too-many-requests');
  assert.match(refused.header('retry-after') ?? '', /^[1-9]\d*$/);
  assert.equal(far.requests.length, 3);
  assert.equal((await restCall(gateway, call, { role: 'engineering' })).status, 200);
  for (const target of ['/healthz', '/readyz', '/whoami', '/metrics'])
    assert.equal((await gateway.send({ target, role: 'admin' })).status, 200, target);
});
