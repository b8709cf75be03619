// suite: waiting

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import { askToReload, reloadWith, rewrite } from './support/gateway/reloading.ts';
import { type Gateway, startGateway } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { closedPort, type FarRequest, httpReply, type Upstream, upstream } from './support/upstreams/upstream.ts';

// A pager or a chat as the receiver of notifications: `body` and `headers` of notifications.

const key = Buffer.alloc(32, 7);
const secret = `whsec_${key.toString('base64')}`;
const pagerKey = 'pd-key-4711-do-not-show';

/** As PagerDuty's Events API v2: 202 for an event that it can read, otherwise 400. */
async function pager(t: TestContext): Promise<Upstream> {
  const far = await upstream(t);
  far.answer((request) => httpReply({ status: isPage(request) ? 202 : 400 }));
  return far;
}

function isPage(request: FarRequest): boolean {
  if (request.header('x-routing-key') !== pagerKey || request.header('content-type') !== 'application/json; charset=utf-8')
    return false;
  const { event_action: action, payload = {} } = JSON.parse(request.body.toString()) as {
    readonly event_action?: string;
    readonly payload?: Readonly<Record<string, unknown>>;
  };
  return action === 'trigger' && typeof payload['summary'] === 'string' && payload['severity'] === 'critical';
}

const body =
  '{ event_action: "trigger", payload: { summary: "\\(.data.adapter) is \\(.data.state)", source, severity: "critical" } }';

const down = async () => ({
  name: 'Core',
  kind: 'rest',
  url: `http://127.0.0.1:${await closedPort()}`,
  health: { interval: '1s' },
});

function receiverAt(far: Upstream, more: object) {
  return { url: `${far.url}/v2/enqueue`, secret, events: ['orchestration-gateway.adapter.*.v1'], ...more };
}

interface Sent {
  readonly status: string;
  readonly lastStatus?: number;
  readonly lastCode?: string;
}

async function sent(gateway: Gateway): Promise<readonly Sent[]> {
  return ((await gateway.send({ target: '/notifications', role: 'admin' })).json() as { readonly list: readonly Sent[] }).list;
}

test('a pager gets its own form of an event with its key, signed as sent, and no answer or line has the key', async (t) => {
  const far = await pager(t);
  const headers = { 'X-Routing-Key': pagerKey, 'user-agent': 'noc' };
  const config = { notifications: [receiverAt(far, { body, headers })] };
  const gateway = await startGateway(t, { config, adapters: [await down()] });
  await until('the pager took it', async () => (await sent(gateway)).some(({ status }) => status === 'delivered'));
  const [request] = far.requests;
  assert.deepEqual(JSON.parse(request?.body.toString() ?? ''), {
    event_action: 'trigger',
    payload: { summary: 'Core is offline', source: '/adapters/Core', severity: 'critical' },
  });
  assert.equal(request?.header('user-agent'), 'noc');
  const signed = `${request.header('webhook-id')}.${request.header('webhook-timestamp')}.${request.body.toString()}`;
  const signature = createHmac('sha256', key).update(signed).digest('base64');
  assert.equal(request.header('webhook-signature'), `v1,${signature}`);
  const shown = [(await gateway.send({ target: '/notifications', role: 'admin' })).text, ...gateway.stderr];
  for (const text of shown) assert.ok(!text.includes(pagerKey) && !text.includes(secret));
});

test('an event on which the expression fails waits for a mended one, and the log says what jq says', async (t) => {
  const far = await upstream(t);
  const fails = receiverAt(far, { body: '.data.nodes | keys' });
  const gateway = await startGateway(t, { config: { notifications: [fails] }, adapters: [await down()] });
  await until('an attempt failed', async () =>
    (await sent(gateway)).some(({ status, lastCode }) => status === 'waiting' && lastCode === 'body-expression'),
  );
  assert.equal(far.requests.length, 0);
  await until('a line says why', () => gateway.stderr.some((line) => line.includes('null (null) has no keys')));
  await reloadWith(gateway, { config: { notifications: [receiverAt(far, { body: '.data.adapter' })] } });
  await until('it is delivered', async () => (await sent(gateway)).some(({ status }) => status === 'delivered'));
  assert.equal(far.requests[0]?.body.toString(), '"Core"');
});

test('an expression that jq cannot read, and a header that is not the operator’s, are problems with their places', async (t) => {
  const gateway = await startGateway(t, {});
  const url = (host: string): object => ({ url: `https://${host}.example.net`, secret });
  const notifications = [
    { ...url('a'), body: '{ summary: .type' },
    { ...url('b'), body: ' ' },
    { ...url('c'), body: 'import "x" as x; .' },
    { ...url('d'), body: '$nothing' },
    { ...url('e'), headers: { 'Content-Length': pagerKey } },
    { ...url('f'), headers: { 'webhook-signature': pagerKey } },
    { ...url('g'), headers: { 'X-Key': `${pagerKey}\r\nX-More: 1` } },
    { ...url('h'), headers: { 'X-Key': pagerKey, 'x-key': pagerKey } },
    { ...url('i'), headers: { 'bad name': pagerKey } },
  ];
  rewrite(gateway, { config: { notifications } });
  const reply = await askToReload(gateway);
  assertProblem(reply, 409, 'configuration-invalid');
  for (const expected of [
    /notifications\[0\]\.body: is no jq expression: syntax error/u,
    /notifications\[1\]\.body: is empty/u,
    /notifications\[2\]\.body: is no jq expression/u,
    /notifications\[3\]\.body: is no jq expression: \$nothing is not defined/u,
    /notifications\[4\]\.headers: is a header that the gateway itself sets/u,
    /notifications\[5\]\.headers: is a header that the gateway itself sets/u,
    /notifications\[6\]\.headers\.X-Key: cannot be sent in an HTTP header/u,
    /notifications\[7\]\.headers\.x-key: is given twice/u,
    /notifications\[8\]\.headers: is no header name/u,
  ])
    assert.match(reply.text, expected);
  assert.ok(!reply.text.includes(pagerKey));
});
