// suite: waiting

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { relay, restCall } from './support/callers/calls.ts';
import { command } from './support/gateway/command.ts';
import { configurationOf, type Gateway, startGateway, startGatewayProcess } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import type { Owner } from './support/owner.ts';
import { temporaryFile } from './support/temporary-file.ts';
import { until } from './support/until.ts';
import { createAuthority } from './support/upstreams/certificate.ts';
import { type Collector, collector, type ReceivedSpan } from './support/upstreams/collector.ts';
import { tlsUpstream } from './support/upstreams/tls-upstream.ts';
import { closedPort, httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

const owner = { after };
const query = { params: { path: 'data/x?secret=hunter2&plain', accept: 'application/json' } };
const action = { params: { path: 'operations/x', accept: 'application/json' }, body: { password: 'hunter3' } };
const callerSpan = 'b7ad6b7169203331';

/** A new trace, and the `traceparent` of a caller in it; the sampled flag is the last bit of `flags`. */
function callersTrace(flags = '01'): { readonly traceId: string; readonly traceparent: string } {
  const traceId = crypto.randomUUID().replaceAll('-', '');
  return { traceId, traceparent: `00-${traceId}-${callerSpan}-${flags}` };
}

function environment(receiver: Pick<Collector, 'url'>, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '20',
    ...more,
  };
}

const far = await upstream(owner);
const adapters = [{ name: 'Local NSO', kind: 'nso', url: far.url, auth: { type: 'basic', username: 'gw', password: 'hunter4' } }];

async function tracedGateway(
  of: Owner,
  more: Readonly<Record<string, string>> = {},
  start: (...options: Parameters<typeof startGateway>) => Promise<Gateway> = startGateway,
): Promise<[Gateway, Collector]> {
  const receiver = await collector(of);
  const config = { outbound: { allow: [far.authority] } };
  return [await start(of, { config, adapters, environment: environment(receiver, more) }), receiver];
}

const [gateway, receiver] = await tracedGateway(owner, {
  OTEL_SERVICE_NAME: 'gateway-of-the-lab',
  OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=lab,site=M%C3%BCnchen',
  OTEL_EXPORTER_OTLP_HEADERS: 'api-key=k%201,x-tenant=lab',
});

const only = (spans: readonly ReceivedSpan[], kind: number): ReceivedSpan => {
  const found = spans.filter((span) => span.kind === kind);
  assert.equal(found.length, 1, JSON.stringify(spans));
  return found[0] as ReceivedSpan;
};
const [internal, server, client] = [1, 2, 3];

test('a query is a span of the request, its decision and its attempt, in the caller’s trace', { timeout: 60_000 }, async () => {
  far.answer(() => jsonReply('{"a":1}'));
  const { traceId, traceparent } = callersTrace();
  const headers = { traceparent, tracestate: 'vendor=opaque', 'X-Request-Id': 'trace-1' };
  const reply = await relay(gateway, 'restQuery', 'Local NSO', query, { headers });
  assert.equal(reply.status, 200);
  const spans = await receiver.trace(traceId, 3);
  assert.equal(spans.length, 3);
  const request = only(spans, server ?? 0);
  assert.equal(request.name, 'POST /orchestrator_manager/restQuery/:adapterId');
  assert.equal(request.parentSpanId, callerSpan);
  assert.equal(request.traceState, 'vendor=opaque');
  assert.equal(request.status.code, 0);
  assert.deepEqual(
    { ...request.attributes },
    {
      'http.request.method': 'POST',
      'http.route': '/orchestrator_manager/restQuery/:adapterId',
      'url.path': '/orchestrator_manager/restQuery/Local%20NSO',
      'url.scheme': 'http',
      'client.address': '127.0.0.1',
      'network.protocol.version': '1.1',
      'gateway.request.id': 'trace-1',
      'http.response.status_code': 200,
      'gateway.adapter': 'Local NSO',
      'gateway.attempts': 1,
      'gateway.upstream.status_code': 200,
    },
  );
  const decision = only(spans, internal ?? 0);
  assert.equal(decision.name, 'decision');
  assert.equal(decision.parentSpanId, request.spanId);
  assert.deepEqual({ ...decision.attributes }, { 'gateway.decision.allowed': true });
  const attempt = only(spans, client ?? 0);
  assert.equal(attempt.name, 'GET');
  assert.equal(attempt.parentSpanId, request.spanId);
  assert.deepEqual(
    { ...attempt.attributes },
    {
      'http.request.method': 'GET',
      'server.address': '127.0.0.1',
      'server.port': far.port,
      'url.scheme': 'http',
      'url.full': `${far.url}/data/x?secret=REDACTED&REDACTED`,
      'gateway.adapter': 'Local NSO',
      'http.response.status_code': 200,
    },
  );
  assert.ok(BigInt(request.startTimeUnixNano) <= BigInt(decision.startTimeUnixNano));
  assert.ok(BigInt(attempt.endTimeUnixNano) >= BigInt(attempt.startTimeUnixNano));
  // The upstream gets the span id of the attempt as parent of its own spans.
  assert.equal(far.request.header('traceparent'), `00-${traceId}-${attempt.spanId}-01`);
  assert.equal(far.request.header('tracestate'), undefined);
  const lines = (): readonly Record<string, unknown>[] =>
    gateway.stderr.map((text) => JSON.parse(text) as Record<string, unknown>);
  const found = (): Record<string, unknown> | undefined => lines().find((each) => each['requestId'] === 'trace-1');
  await until('the request is in the log', () => found() !== undefined);
  assert.equal(found()?.['traceId'], traceId);
});

test('each attempt of a repeated query has a span of its own, whose id the upstream gets', { timeout: 60_000 }, async () => {
  const { traceId, traceparent } = callersTrace();
  far.answer(() => (far.requests.length === 1 ? httpReply({ status: 503 }) : jsonReply('{}')));
  const reply = await relay(gateway, 'restQuery', 'Local NSO', query, { headers: { traceparent } });
  assert.equal(reply.status, 200);
  const attempts = (await receiver.trace(traceId, 4)).filter((span) => span.kind === client);
  assert.deepEqual(
    attempts.map((span) => [
      span.attributes['http.response.status_code'],
      span.attributes['error.type'],
      span.attributes['http.request.resend_count'],
      span.status.code,
    ]),
    [
      [503, '503', undefined, 2],
      [200, undefined, 1, 0],
    ],
  );
  assert.deepEqual(
    far.requests.map((request) => request.header('traceparent')),
    attempts.map((span) => `00-${traceId}-${span.spanId}-01`),
  );
});

test('a restCall that is redirected has a span for each hop', { timeout: 60_000 }, async () => {
  const { traceId, traceparent } = callersTrace();
  far.answer((request) =>
    request.target === '/from' ? httpReply({ status: 302, headers: { Location: '/to?token=hunter5' } }) : jsonReply('{}'),
  );
  await restCall(gateway, { uri: `${far.url}/from`, verb: 'GET', responseHeaders: false }, { headers: { traceparent } });
  const attempts = (await receiver.trace(traceId, 4)).filter((span) => span.kind === client);
  assert.deepEqual(
    attempts.map((span) => span.attributes['url.full']),
    [`${far.url}/from`, `${far.url}/to?token=REDACTED`],
  );
});

test('a traceparent among the headers of a restCall reaches the upstream as written', { timeout: 60_000 }, async () => {
  const { traceId, traceparent } = callersTrace();
  far.answer(() => jsonReply('{}'));
  const own = callersTrace().traceparent;
  const body = { uri: far.url, verb: 'GET', responseHeaders: false, headers: { traceparent: own } };
  await restCall(gateway, body, { headers: { traceparent, tracestate: 'vendor=opaque' } });
  assert.equal(far.request.header('traceparent'), own);
  assert.equal(far.request.header('tracestate'), undefined);
  assert.equal((await receiver.trace(traceId, 3)).length, 3);
});

test('an action whose connection breaks is an error of both spans, with the code of the reply', { timeout: 60_000 }, async () => {
  const { traceId, traceparent } = callersTrace();
  far.answer((_request, socket) => void socket.destroy());
  const reply = await relay(gateway, 'restAction', 'Local NSO', action, { headers: { traceparent } });
  assert.equal(reply.status, 502);
  const spans = await receiver.trace(traceId, 3);
  for (const kind of [server, client]) {
    const span = only(spans, kind ?? 0);
    assert.equal(span.status.code, 2);
    assert.equal(span.attributes['error.type'], 'outcome-unknown');
  }
});

test('a refusal is a decision span with the reason, and no error of the request span', { timeout: 60_000 }, async () => {
  const { traceId, traceparent } = callersTrace();
  const reply = await relay(gateway, 'restAction', 'Local NSO', action, { role: 'readonly', headers: { traceparent } });
  assert.equal(reply.status, 403);
  const spans = await receiver.trace(traceId, 2);
  assert.equal(spans.length, 2);
  assert.deepEqual(
    { ...only(spans, internal ?? 0).attributes },
    { 'gateway.decision.allowed': false, 'error.type': 'forbidden' },
  );
  const request = only(spans, server ?? 0);
  assert.equal(request.attributes['error.type'], 'forbidden');
  assert.equal(request.status.code, 0);
});

test('an unknown path is in no span', { timeout: 60_000 }, async () => {
  const { traceId, traceparent } = callersTrace();
  await gateway.send({ target: '/hunter6?hunter7', headers: { traceparent } });
  const request = only(await receiver.trace(traceId, 1), server ?? 0);
  assert.equal(request.name, 'GET');
  assert.equal(request.attributes['error.type'], 'not-found');
});

test('the collector gets the resource and the headers of the environment', () => {
  assert.equal(receiver.resource['service.name'], 'gateway-of-the-lab');
  assert.equal(receiver.resource['deployment.environment.name'], 'lab');
  assert.equal(receiver.resource['site'], 'München');
  const { path, headers } = receiver.requests[0] ?? assert.fail();
  assert.equal(path, '/v1/traces');
  assert.equal(headers['api-key'], 'k 1');
  assert.equal(headers['x-tenant'], 'lab');
});

test('the collector gets no password, no body and no value of a query string', () => {
  assert.ok(receiver.requests.length > 0);
  for (const { bytes } of receiver.requests) assert.doesNotMatch(bytes.toString('latin1'), /hunter\d|correct horse/u);
});

test('a trace without the sampled flag is not recorded, and the upstream gets the flag unset', { timeout: 60_000 }, async () => {
  far.answer(() => jsonReply('{}'));
  const { traceId, traceparent } = callersTrace('00');
  const after = callersTrace();
  await relay(gateway, 'restQuery', 'Local NSO', query, { headers: { traceparent } });
  const sent = far.request.header('traceparent') ?? '';
  assert.match(sent, new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`, 'u'));
  assert.notEqual(sent, traceparent);
  // Spans are sent in order: a span of the first trace would arrive before those of the second.
  await relay(gateway, 'restQuery', 'Local NSO', query, { headers: { traceparent: after.traceparent } });
  await receiver.trace(after.traceId, 3);
  assert.ok(receiver.spans.every((span) => span.traceId !== traceId));
});

test('sampler, encoding and compression are those of the environment', { timeout: 60_000 }, async (t) => {
  far.answer(() => jsonReply('{}'));
  const [other, protobuf] = await tracedGateway(t, {
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_TRACES_SAMPLER: 'parentbased_always_off',
  });
  const { traceId, traceparent } = callersTrace();
  await relay(other, 'restQuery', 'Local NSO', query);
  assert.match(far.request.header('traceparent') ?? '', /-00$/u);
  await relay(other, 'restQuery', 'Local NSO', query, { headers: { traceparent } });
  await other.stop();
  const [first] = protobuf.requests;
  assert.equal(first?.headers['content-type'], 'application/x-protobuf');
  assert.equal(first?.headers['content-encoding'], 'gzip');
  const bytes = Buffer.concat(protobuf.requests.map((request) => request.bytes)).toString('hex');
  // Each span has the trace's id once. The call without a sampled caller has no span.
  assert.equal(bytes.split(traceId).length - 1, 3);
});

test('a collector with TLS gets spans where its certificate is of the authority in the environment, else none', {
  timeout: 60_000,
}, async (t) => {
  const authority = createAuthority();
  const collectorOverTls = await tlsUpstream(t, authority.issue({ names: ['127.0.0.1'] }));
  const start = (ca: string): Promise<Gateway> =>
    startGateway(t, {
      environment: environment(
        { url: `https://127.0.0.1:${collectorOverTls.port}` },
        { OTEL_EXPORTER_OTLP_CERTIFICATE: temporaryFile(t, 'ca.pem', ca) },
      ),
    });
  const trusting = await start(authority.cert);
  await trusting.send({ target: '/healthz' });
  await until('the collector has spans', () => collectorOverTls.requests.length > 0);
  assert.equal(collectorOverTls.requests[0]?.target, '/v1/traces');
  const other = await start(createAuthority('another').cert);
  await other.send({ target: '/healthz' });
  await until('the failure is in the log', () => other.stderr.some((line) => line.includes('upstream-tls-failed')));
});

test('a gateway that stops sends its last spans before it ends', { timeout: 60_000 }, async (t) => {
  far.answer(() => jsonReply('{}'));
  const [other, last] = await tracedGateway(t, { OTEL_BSP_SCHEDULE_DELAY: '600000' }, startGatewayProcess);
  const { traceId, traceparent } = callersTrace();
  await relay(other, 'restQuery', 'Local NSO', query, { headers: { traceparent } });
  assert.equal(last.requests.length, 0);
  assert.equal(await other.stop(), 0);
  assert.equal(last.spans.filter((span) => span.traceId === traceId).length, 3);
});

test('a gateway that stops waits for the batch that is on its way', { timeout: 60_000 }, async (t) => {
  far.answer(() => jsonReply('{}'));
  const [other, busy] = await tracedGateway(t, {}, startGatewayProcess);
  // The exporter sends the batch again after a second at most.
  busy.answer(503);
  const { traceId, traceparent } = callersTrace();
  await relay(other, 'restQuery', 'Local NSO', query, { headers: { traceparent } });
  await until('the collector refused the batch of the call', () => busy.requests.some(({ bytes }) => bytes.includes(traceId)));
  busy.answer(200);
  assert.equal(await other.stop(), 0);
  assert.equal(busy.spans.filter((span) => span.traceId === traceId).length, 3);
});

for (const { name, url } of [
  { name: 'is down', url: async () => `http://127.0.0.1:${await closedPort()}` },
  {
    name: 'never answers',
    url: async (t: Owner) => {
      const silent = await collector(t);
      silent.answer('silence');
      return silent.url;
    },
  },
]) {
  test(`a collector that ${name} fails no call, and delays the end by its limit at most`, { timeout: 60_000 }, async (t) => {
    far.answer(() => jsonReply('{}'));
    const other = await startGatewayProcess(t, { adapters, environment: environment({ url: await url(t) }) });
    for (let count = 0; count < 20; count += 1) assert.equal((await relay(other, 'restQuery', 'Local NSO', query)).status, 200);
    await lapse(200, 'the exporter tries to send');
    assert.equal((await relay(other, 'restQuery', 'Local NSO', query)).status, 200);
    const stopping = performance.now();
    assert.equal(await other.stop(), 0);
    // The limit is 2 seconds; a retry of the exporter would take 10.
    assert.ok(performance.now() - stopping < 8_000);
  });
}

test('a collector that refuses spans is one line in the log, and a metric counts the lost spans', {
  timeout: 60_000,
}, async (t) => {
  const [other, refusing] = await tracedGateway(t);
  refusing.answer(400);
  far.answer(() => jsonReply('{}'));
  const lost = async (): Promise<number> => {
    const { text } = await other.send({ target: '/metrics', role: 'admin' });
    return Number(/^gateway_spans_total\{outcome="lost"\} (\d+)$/mu.exec(text)?.[1]);
  };
  await until('spans are lost', async () => (await lost()) >= 10);
  assert.equal(other.stderr.filter((line) => line.includes('spans are lost')).length, 1);
});

test('a collector with a Retry-After beyond the longest timer gets no repeated requests', { timeout: 60_000 }, async (t) => {
  const [other, busy] = await tracedGateway(t);
  // More than 2 to the power of 31 milliseconds.
  busy.answer(503, { 'Retry-After': '2147484' });
  far.answer(() => jsonReply('{}'));
  await relay(other, 'restQuery', 'Local NSO', query);
  await until('the batch is given up', () => other.stderr.some((line) => line.includes('spans are lost')));
  await other.stop();
  // A repeated request would have the bytes of the one before.
  assert.equal(new Set(busy.requests.map(({ bytes }) => bytes.toString('base64'))).size, busy.requests.length);
});

test('OTEL_SDK_DISABLED switches spans off, and the trace of the caller is relayed all the same', {
  timeout: 60_000,
}, async (t) => {
  far.answer(() => jsonReply('{}'));
  const [other, idle] = await tracedGateway(t, { OTEL_SDK_DISABLED: 'true' });
  const { traceId, traceparent } = callersTrace();
  await relay(other, 'restQuery', 'Local NSO', query, { headers: { traceparent, tracestate: 'a=1' } });
  assert.match(far.request.header('traceparent') ?? '', new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`, 'u'));
  assert.equal(far.request.header('tracestate'), undefined);
  await other.stop();
  assert.equal(idle.requests.length, 0);
});

test('an unreadable file of certificates ends the start; the error names the file and its variable', async (t) => {
  const file = temporaryFile(t, 'gateway.yaml', JSON.stringify(configurationOf({})));
  const { code, stderr } = await command(['serve', '--config', file], {
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://127.0.0.1:1', OTEL_EXPORTER_OTLP_CERTIFICATE: '/nowhere/ca.pem' },
  });
  assert.equal(code, 1);
  assert.match(stderr, /\/nowhere\/ca\.pem, .*OTEL_EXPORTER_OTLP_.* cannot be read \(ENOENT\)/u);
});
