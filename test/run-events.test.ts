import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Gateway, startGateway } from './support/gateway/start-gateway.ts';
import { readStream } from './support/runs/read-stream.ts';

// Runs and their events at a whole gateway: docs/reference/http-api.md.

/** Creates an automation of a workflow with these tasks, and answers the address of its runs. */
async function automationOf(gateway: Gateway, tasks: readonly object[]): Promise<string> {
  const send = async (target: string, body: object): Promise<string> => {
    const headers = { 'Content-Type': 'application/json' };
    const reply = await gateway.send({ method: 'POST', target, role: 'admin', headers, body: JSON.stringify(body) });
    assert.equal(reply.status, 201, reply.text);
    return reply.header('location') ?? '';
  };
  const document = { dsl: '1.0.3', namespace: 'lab', name: 'one', version: '1.0.0' };
  await send('/automation_catalog/workflows', { document, do: tasks });
  const one = await send('/automation_catalog/automations', { name: 'one', data: { workflowId: 'lab.one' } });
  return `${one}/run`;
}

async function started(gateway: Gateway, address: string, input: string): Promise<string> {
  const headers = { 'Content-Type': 'application/json' };
  const body = `{"input":${input}}`;
  const reply = await gateway.send({ method: 'POST', target: address, role: 'admin', headers, body });
  assert.equal(reply.status, 201, reply.text);
  return reply.header('location') ?? '';
}

function followed(t: TestContext, gateway: Gateway, target: string, after?: string) {
  return readStream(t, gateway, { as: gateway.basicFor('admin'), target, ...(after !== undefined && { after }) });
}

test('a run is followed to its end, and its output keeps the digits of its input', async (t) => {
  const gateway = await startGateway(t);
  const address = await automationOf(gateway, [{ keep: { set: { serial: '${ .serial }' } } }]);
  const all = await followed(t, gateway, '/events');
  const run = await started(gateway, address, '{"serial":18446744073709551615}');
  const stream = await followed(t, gateway, `${run}/events`);
  await stream.end();
  const types = ['workflow.started', 'task.created', 'task.started', 'task.completed', 'workflow.completed'];
  assert.deepEqual(
    stream.events.map(({ type }) => type),
    types.map((type) => `io.serverlessworkflow.${type}.v1`),
  );
  assert.equal(stream.ended, true);
  await all.has(types.length);
  assert.deepEqual(all.events, stream.events);
  const { text } = await gateway.send({ target: run, role: 'admin' });
  assert.match(text, /"status":"completed".*"output":\{"serial":18446744073709551615\}/u);
});

test('SIGTERM ends event streams with complete replies, and the next gateway goes on after the last event', async (t) => {
  const gateway = await startGateway(t);
  const address = await automationOf(gateway, [{ pause: { wait: { hours: 1 } } }]);
  const run = await started(gateway, address, '{}');
  const streams = [await followed(t, gateway, '/events'), await followed(t, gateway, `${run}/events`)];
  await streams[1]?.has(3);
  const next = gateway.restart();
  for (const stream of streams) {
    await stream.end();
    assert.equal(stream.ended, true);
  }
  const again = await next;
  const resumed = await followed(t, again, `${run}/events`, streams[1]?.events[0]?.id);
  await resumed.has(2);
  assert.deepEqual(resumed.events.slice(0, 2), streams[1]?.events.slice(1, 3));
  const reply = await again.send({ method: 'POST', target: `${run}/cancel`, role: 'admin' });
  assert.equal((reply.json() as { readonly status: string }).status, 'cancelled', reply.text);
  await resumed.end();
  assert.equal(resumed.events.at(-1)?.type, 'io.serverlessworkflow.workflow.cancelled.v1');
});
