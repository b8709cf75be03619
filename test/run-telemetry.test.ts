// suite: long

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { errorName } from '../src/runs/interpreter/task-error.ts';
import { type Gateway, startGateway, startGatewayProcess } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { collector, type ReceivedSpan } from './support/upstreams/collector.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

type Line = Readonly<Record<string, unknown>>;

const owner = { after };
const far = await upstream(owner);
const receiver = await collector(owner);
const gateway = await startGateway(owner, {
  adapters: [{ name: 'Far', kind: 'rest', url: far.url, auth: { type: 'none' } }],
  environment: {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '20',
  },
});

const params = { path: 'x', accept: 'application/json' };
const query = { ask: { call: 'orchestratorQuery', with: { adapter: 'Far', params } } };
const action = { act: { call: 'orchestratorAction', with: { adapter: 'Far', params, body: {} } } };
const raise = (type: string): object => ({ fail: { raise: { error: { type, status: 500, title: 'hunter2' } } } });

async function ask(of: Gateway, target: string, body?: object): Promise<unknown> {
  const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const reply = await of.send({ target, role: 'admin', headers: { 'Content-Type': 'application/json' }, ...sent });
  assert.ok(reply.status < 300, reply.text);
  return reply.json();
}

/** Begins a run of these tasks, and answers its id with that of its automation. */
async function begin(
  of: Gateway,
  name: string,
  tasks: readonly object[],
): Promise<{ readonly id: string; readonly automation: string }> {
  const document = { dsl: '1.0.3', namespace: 'lab', name, version: '1.0.0' };
  await ask(of, '/automation_catalog/workflows', { document, do: tasks });
  const made = await ask(of, '/automation_catalog/automations', { name, data: { workflowId: `lab.${name}` } });
  const automation = (made as { readonly _id: string })._id;
  const run = await ask(of, `/automation_catalog/automations/${automation}/run`, {});
  return { id: (run as { readonly id: string }).id, automation };
}

async function reaches(of: Gateway, id: string, status: string): Promise<void> {
  await until(`run ${id} is ${status}`, async () => {
    const run = (await ask(of, `/runs/${id}`)) as { readonly status: string };
    return run.status === status;
  });
}

/** The value of the sample with exactly these labels, as Prometheus writes them; undefined where there is none. */
async function metric(of: Gateway, sample: string): Promise<number | undefined> {
  const { text } = await of.send({ target: '/metrics', role: 'admin' });
  const line = text.split('\n').find((each) => each.startsWith(`${sample} `));
  return line === undefined ? undefined : Number(line.slice(sample.length));
}

/** The lines about a run that are not about its calls, once there is one that begins so. */
async function linesAbout(of: Gateway, run: string, message: string): Promise<readonly Line[]> {
  const lines = (): readonly Line[] =>
    of.stderr.map((text) => JSON.parse(text) as Line).filter((line) => line['run'] === run && line['msg'] !== 'call of a run');
  await until(`the log has "${message}"`, () => lines().some(({ msg }) => String(msg).startsWith(message)));
  return lines();
}

const named = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan =>
  spans.find((span) => span.name === name) ?? assert.fail(`no span ${name} in ${JSON.stringify(spans)}`);

test('a run that completes is counted with its tasks and its calls, and is one line at info', { timeout: 60_000 }, async () => {
  far.answer(() => jsonReply('{}'));
  const skipped = { not: { if: '${ false }', set: { a: 1 } } };
  const { id, automation } = await begin(gateway, 'completes', [query, action, skipped]);
  const lines = await linesAbout(gateway, id, 'a run has completed');
  assert.equal(lines.length, 1);
  const [{ level, workflow, automation: ofLine, principal, reason } = {}] = lines;
  assert.deepEqual([level, workflow, ofLine, principal, reason], ['info', 'lab.completes', automation, 'admin-user', undefined]);
  assert.equal(await metric(gateway, 'gateway_runs_ended_total{status="completed"}'), 1);
  assert.equal(await metric(gateway, 'gateway_runs_ended_total{status="faulted"}'), 0);
  assert.equal(await metric(gateway, 'gateway_run_duration_seconds_count{status="completed"}'), 1);
  assert.equal(await metric(gateway, 'gateway_run_tasks_ended_total{status="completed"}'), 2);
  assert.equal(await metric(gateway, 'gateway_run_tasks_ended_total{status="skipped"}'), 1);
  // A call is counted after its task has its result.
  for (const operation of ['restAction', 'restQuery']) {
    const sample = `gateway_calls_total{route="run ${operation}",adapter="Far",outcome="ok"}`;
    await until(`${operation} is counted`, async () => (await metric(gateway, sample)) === 1);
  }
});

test('a run is the root span of its trace, its calls are below it, and their attempts below them', {
  timeout: 60_000,
}, async () => {
  far.answer(() => jsonReply('{}'));
  const { id, automation } = await begin(gateway, 'traced', [query]);
  const [line] = await linesAbout(gateway, id, 'a run has completed');
  const spans = await receiver.trace(String(line?.['traceId']), 3);
  const root = named(spans, 'run lab.traced');
  const call = named(spans, 'run restQuery');
  const attempt = named(spans, 'GET');
  assert.equal(spans.length, 3);
  assert.equal(root.parentSpanId ?? '', '');
  assert.equal(call.parentSpanId, root.spanId);
  assert.equal(attempt.parentSpanId, call.spanId);
  assert.equal(far.request.header('traceparent'), `00-${root.traceId}-${attempt.spanId}-01`);
  assert.ok(BigInt(root.startTimeUnixNano) <= BigInt(root.endTimeUnixNano));
  assert.equal(root.status.code, 0);
  assert.deepEqual(
    { ...root.attributes },
    {
      'gateway.run.id': id,
      'gateway.run.workflow': 'lab.traced',
      'gateway.run.version': '1.0.0',
      'gateway.run.automation': automation,
      'gateway.run.status': 'completed',
    },
  );
});

test('a run that faults is a warning with the name of a standard error, and its span is an error', {
  timeout: 60_000,
}, async () => {
  const { id } = await begin(gateway, 'faults', [raise('https://serverlessworkflow.io/spec/1.0.0/errors/communication')]);
  const lines = await linesAbout(gateway, id, 'a run has faulted');
  assert.deepEqual([lines.length, lines[0]?.['level'], lines[0]?.['reason']], [1, 'warn', 'communication']);
  const root = named(await receiver.trace(String(lines[0]?.['traceId']), 1), 'run lab.faults');
  assert.deepEqual([root.status.code, root.attributes['error.type']], [2, 'communication']);
  assert.equal(await metric(gateway, 'gateway_runs_ended_total{status="faulted"}'), 1);
  assert.equal(await metric(gateway, 'gateway_run_tasks_ended_total{status="faulted"}'), 1);
});

test('an error type that a workflow made up is in no line and no span', { timeout: 60_000 }, async () => {
  const { id } = await begin(gateway, 'made-up', [raise('https://example.net/hunter3')]);
  const lines = await linesAbout(gateway, id, 'a run has faulted');
  assert.equal(lines[0]?.['reason'], errorName({ type: 'https://example.net/hunter3' }));
  await receiver.trace(String(lines[0]?.['traceId']), 1);
  assert.doesNotMatch(`${gateway.stderr.join('\n')}${JSON.stringify(receiver.spans)}`, /hunter/u);
});

test('a run with an unknown outcome is suspended: a metric, a warning and /readyz say so, and the gateway stays ready', {
  timeout: 60_000,
}, async () => {
  far.answer((_request, socket) => void socket.destroy());
  const { id } = await begin(gateway, 'doubtful', [action]);
  const lines = await linesAbout(gateway, id, 'a run is suspended');
  assert.deepEqual([lines.length, lines[0]?.['level'], lines[0]?.['reason']], [1, 'warn', 'the outcome of a call is unknown']);
  assert.equal(await metric(gateway, 'gateway_runs_suspended_total{reason="unknown-outcome"}'), 1);
  const unknown = 'gateway_calls_total{route="run restAction",adapter="Far",outcome="unknown"}';
  await until('the call is counted', async () => (await metric(gateway, unknown)) === 1);
  // The figures of the store are up to five seconds old.
  await until('the gauge shows it', async () => (await metric(gateway, 'gateway_runs{state="suspended"}')) === 1);
  assert.equal(await metric(gateway, 'gateway_run_lateness_seconds'), 0);
  const ready = await gateway.send({ target: '/readyz' });
  assert.equal(ready.status, 200);
  assert.deepEqual((ready.json() as { readonly runs: unknown }).runs, {
    pending: 0,
    running: 0,
    waiting: 0,
    suspended: 1,
    latenessMs: 0,
  });
});

test('a run that someone suspends and cancels is a warning and a line at info', { timeout: 60_000 }, async () => {
  const { id } = await begin(gateway, 'waits', [{ rest: { wait: { hours: 1 } } }]);
  await reaches(gateway, id, 'waiting');
  await ask(gateway, `/runs/${id}/suspend`, {});
  await linesAbout(gateway, id, 'a run is suspended');
  await ask(gateway, `/runs/${id}/cancel`, {});
  const lines = await linesAbout(gateway, id, 'a run was cancelled');
  assert.deepEqual(
    lines.map(({ level, msg, reason }) => [level, msg, reason]),
    [
      ['warn', 'a run is suspended', 'someone suspended it'],
      ['info', 'a run was cancelled', undefined],
    ],
  );
  assert.equal(await metric(gateway, 'gateway_runs_suspended_total{reason="people"}'), 1);
  assert.equal(await metric(gateway, 'gateway_runs_ended_total{status="cancelled"}'), 1);
  assert.equal(await metric(gateway, 'gateway_run_tasks_ended_total{status="cancelled"}'), 1);
});

test('a run whose gateway was killed is counted and logged as taken over, once', { timeout: 120_000 }, async (t) => {
  const first = await startGatewayProcess(t, { adapters: [{ name: 'Far', kind: 'rest', url: far.url, auth: { type: 'none' } }] });
  far.answer(() => undefined);
  const { id } = await begin(first, 'survives', [query]);
  await until('the query is in flight', () => far.requests.length > 0);
  assert.equal(await metric(first, 'gateway_runs_held'), 1);
  assert.equal(await metric(first, 'gateway_runs_taken_over_total'), 0);
  assert.equal(await first.stop('SIGKILL'), 'SIGKILL');
  far.answer(() => jsonReply('{}'));
  const second = await first.restart();
  const lines = await linesAbout(second, id, 'a run has completed');
  assert.deepEqual(
    lines.map(({ level, msg }) => [level, String(msg).split(':')[0]]),
    [
      ['warn', 'a run was taken over'],
      ['info', 'a run has completed'],
    ],
  );
  assert.equal(await metric(second, 'gateway_runs_taken_over_total'), 1);
  await until('it holds none', async () => (await metric(second, 'gateway_runs_held')) === 0);
});
