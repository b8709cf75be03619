import assert from 'node:assert/strict';
import { test } from 'node:test';
import { relay } from './support/callers/calls.ts';
import { type Gateway, startGateway } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { countingUpstream } from './support/runs/counting-upstream.ts';
import { actionTask, runCaller } from './support/runs/run-caller.ts';
import { foundPostgres, storeUrl } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// Gateways for calls and gateways for runs on one store, as docs/guides/scaling.md splits them.

const skip = foundPostgres === undefined && process.env['CI'] !== 'true' ? 'no PostgreSQL answers' : false;

test('a gateway with automations.tasks: 0 serves calls and starts of runs, and leaves the runs to the others', {
  skip,
}, async (t) => {
  assert.ok(foundPostgres !== undefined, 'with CI=true this test must run');
  const url = storeUrl(await foundPostgres.empty(t));
  const far = await countingUpstream(t);
  const started = (name: string, automations: object): Promise<Gateway> =>
    startGateway(t, {
      config: { store: { url }, automations },
      adapters: [{ name: 'Far', kind: 'rest', url: `${far.url}/${name}` }],
    });
  const calls = await started('calls', { tasks: 0 });
  const caller = runCaller(() => calls, calls.basicFor('admin'));
  const automation = await caller.automation('one', [actionTask('act', '$workflow.input.run')]);
  const { id } = await caller.start(automation, { input: { run: 'of a run' } });
  const call = await relay(calls, 'restAction', 'Far', {
    params: { path: '/act', accept: 'application/json' },
    body: { action: 'of a caller' },
  });
  assert.equal(call.status, 200, call.text);
  await lapse(2_500, 'a gateway looks once a second for runs, and this one must take none');
  assert.equal((await caller.read(id)).status, 'pending');
  const runs = await started('runs', {});
  await until('the run has completed', async () => (await caller.read(id)).status === 'completed');
  const followed = await caller.start(automation, { input: { run: 'of a second run' } });
  await caller.reaches(followed.id, 'completed');
  assert.deepEqual(far.arrivals, [
    { action: 'of a caller', from: 'calls' },
    { action: 'of a run', from: 'runs' },
    { action: 'of a second run', from: 'runs' },
  ]);
  assert.equal(await runs.stop(), 0);
});
