import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { assertProblem, instancesOf, relay } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { logCaughtUp, logLines, reloadWith } from './support/gateway/reloading.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { closedPort, type FarRequest, httpReply, jsonReply, restconfRoot, upstream } from './support/upstreams/upstream.ts';

// What the state of an adapter instance says before its first call, where its credentials are refused, and where its address is wrong.

interface Report {
  readonly name: string;
  readonly state: string;
  readonly lastError?: { readonly code: string; readonly detail: string };
  readonly urls: readonly { readonly state: string }[];
}

interface Step {
  readonly step: string;
  readonly ok: boolean;
  readonly detail?: string;
}

const accept = 'application/yang-data+json';
const auth = { type: 'basic', username: 'gateway', password: 'planted' };
const far = await upstream({ after });
const gateway = await startGateway({ after });

const params = { path: 'x', accept };
const query = (): Promise<Reply> => relay(gateway, 'restQuery', 'A', { params });
const action = (): Promise<Reply> => relay(gateway, 'restAction', 'A', { params, body: {} });

/** Reloads the gateway with one adapter instance; each time it is a new one. */
async function configure(more: Readonly<Record<string, unknown>> = {}): Promise<void> {
  await reloadWith(gateway, { adapters: [] });
  await reloadWith(gateway, { adapters: [{ name: 'A', kind: 'nso', url: far.url, auth, ...more }] });
}

async function report(): Promise<Report> {
  const reply = await gateway.send({ target: '/adapters', role: 'admin' });
  const { list } = reply.json() as { readonly list: readonly [Report] };
  return list[0];
}

async function stateIs(state: string): Promise<Report> {
  let found = await report();
  await until(`the state ${state}`, async () => {
    found = await report();
    return found.state === state;
  });
  return found;
}

async function counted(): Promise<unknown> {
  const reply = await gateway.send({ target: '/readyz' });
  return (reply.json() as { readonly adapters: unknown }).adapters;
}

async function metrics(): Promise<readonly string[]> {
  return (await gateway.send({ target: '/metrics', role: 'readonly' })).text.split('\n');
}

async function tried(): Promise<{ readonly ok: boolean; readonly steps: readonly Step[] }> {
  const reply = await gateway.send({ method: 'POST', target: '/adapters/A/test', role: 'admin' });
  const { urls } = reply.json() as { readonly urls: readonly [{ readonly ok: boolean; readonly steps: readonly Step[] }] };
  return urls[0];
}

const linesAbout = (msg: RegExp, from: number): readonly string[] =>
  logLines(gateway)
    .slice(from)
    .filter((line) => msg.test(line.msg))
    .map((line) => JSON.stringify(line));

const refusal = httpReply({ status: 401, headers: { 'WWW-Authenticate': 'Basic realm="NSO"' } });
const none = { unknown: 0, online: 0, degraded: 0, offline: 0 };

beforeEach(() => far.answer(() => jsonReply('{}')));

describe('an adapter instance', () => {
  test('is unknown until its first call or probe', async () => {
    await configure();
    const { state, urls, lastError } = await report();
    assert.deepEqual([state, urls.map((url) => url.state), lastError], ['unknown', ['unknown'], undefined]);
    assert.deepEqual(await counted(), { ...none, unknown: 1 });
    const shown = await metrics();
    assert.ok(shown.includes('gateway_adapter_state{adapter="A",state="unknown"} 1'));
    assert.ok(shown.includes('gateway_adapter_node_online{adapter="A",node="1"} 0'));
    instancesOf(await query());
    assert.equal((await report()).state, 'online');
    assert.deepEqual(await counted(), { ...none, online: 1 });
  });

  test('is offline where its first call gets no answer', async () => {
    await configure({ url: `http://127.0.0.1:${await closedPort()}` });
    assertProblem(await query(), 502, 'upstream-connect-failed');
    assert.equal((await report()).state, 'offline');
  });
});

describe('an adapter instance whose credentials are refused', () => {
  test('is degraded, counted, measured and logged once, and the caller gets to know whose credentials they are', async () => {
    await configure();
    const from = gateway.stderr.length;
    far.answer(() => refusal);
    for (const call of [action, query]) {
      const { detail, upstream } = assertProblem(await call(), 502, 'upstream-error');
      assert.equal(upstream?.status, 401);
      assert.match(detail, /answered 401.*credentials of the adapter instance.*not yours/u);
    }
    // A probe was refused too.
    assertProblem(await action(), 503, 'credentials-refused');
    const { state, lastError } = await report();
    assert.equal(state, 'degraded');
    assert.match(lastError?.detail ?? '', /401.*credentials of this adapter instance \(auth: basic\)/u);
    assert.deepEqual(await counted(), { ...none, degraded: 1 });
    assert.ok((await metrics()).includes('gateway_adapter_credentials_refused{adapter="A",node="1"} 1'));
    far.answer(({ target }) => (target === '/x' ? jsonReply('{}') : restconfRoot()));
    assert.equal((await tried()).ok, true);
    instancesOf(await query());
    assert.equal((await report()).state, 'online');
    assert.ok((await metrics()).includes('gateway_adapter_credentials_refused{adapter="A",node="1"} 0'));
    await logCaughtUp(gateway);
    const [warning = '', ...more] = linesAbout(/credentials of an adapter instance are refused/u, from);
    assert.deepEqual(more, []);
    assert.match(warning, /"level":"warn".*"adapter":"A".*401/u);
    assert.doesNotMatch(warning, /planted/u);
    assert.equal(linesAbout(/credentials of an adapter instance are accepted again/u, from).length, 1);
  });

  test('is degraded after a probe, and a test names the credentials', async () => {
    far.answer(() => refusal);
    const from = gateway.stderr.length;
    await configure({ url: `${far.url}/base`, health: { interval: '100ms' } });
    const { lastError } = await stateIs('degraded');
    assert.match(lastError?.detail ?? '', /GET \/base\/restconf\/\S+ answered 401/u);
    await logCaughtUp(gateway);
    const [warning = ''] = linesAbout(/credentials of an adapter instance are refused/u, from);
    assert.match(warning, /"adapter":"A"/u);
    assert.doesNotMatch(warning, /base/u, 'a base address may hold a secret in its path');
    const { ok, steps } = await tried();
    assert.equal(ok, false);
    const failed = steps.filter((step) => !step.ok);
    assert.deepEqual(
      failed.map(({ step }) => step),
      ['authentication'],
    );
    assert.match(failed[0]?.detail ?? '', /auth: basic/u);
  });

  test('says that it has none where auth is none', async () => {
    far.answer(() => refusal);
    await configure({ auth: { type: 'none' } });
    assertProblem(await action(), 502, 'upstream-error');
    assert.match((await report()).lastError?.detail ?? '', /has no credentials \(auth: none\)/u);
  });

  test('is degraded where its token endpoint refuses the gateway', async () => {
    far.answer(({ target }) =>
      target === '/token' ? jsonReply('{"error":"invalid_client"}', { status: 401 }) : jsonReply('{}'),
    );
    await configure({ auth: { type: 'oauth2', tokenUrl: `${far.url}/token`, clientId: 'g', clientSecret: 'planted' } });
    const from = gateway.stderr.length;
    assertProblem(await action(), 503, 'adapter-unavailable');
    const { state, lastError } = await report();
    assert.equal(state, 'degraded');
    assert.match(lastError?.detail ?? '', /invalid_client/u);
    await logCaughtUp(gateway);
    assert.equal(linesAbout(/credentials of an adapter instance are refused/u, from).length, 1);
  });
});

/** A RESTCONF server that has its root at that path, and answers a wrong path with an error of its own. */
function servingAt(root: string, wrong: () => Buffer) {
  return ({ target }: FarRequest): Buffer => (target === root ? restconfRoot() : wrong());
}

const wrongAddresses: readonly (readonly [string, () => Buffer, RegExp])[] = [
  [
    '400 with a RESTCONF error',
    () => jsonReply('{"ietf-restconf:errors":{"error":[{"error-tag":"malformed-message"}]}}', { status: 400, type: accept }),
    /GET \/restconf\/restconf answered 400: .*path too many/u,
  ],
  ['404', () => httpReply({ status: 404 }), /GET \/restconf\/restconf answered 404: .*path too many/u],
  ['403', () => httpReply({ status: 403 }), /GET \/restconf\/restconf answered 403: .*may not read.*or a proxy/u],
  [
    '200 with a page',
    () => httpReply({ headers: { 'Content-Type': 'text/html' }, body: '<form>Log in</form>' }),
    /GET \/restconf\/restconf answered 200: .*not the root of RESTCONF/u,
  ],
  ['a redirect', () => httpReply({ status: 301, headers: { Location: '/x' } }), /answered 301: .*url/u],
];

describe('an adapter instance with a wrong base address', () => {
  for (const kind of ['nso', 'restconf']) {
    for (const [what, wrong, said] of wrongAddresses) {
      test(`of kind ${kind} that gets ${what} is degraded, and its test fails with the cause`, async () => {
        far.answer(servingAt('/restconf', wrong));
        await configure({ kind, url: `${far.url}/restconf` });
        const { ok, steps } = await tried();
        assert.equal(ok, false);
        assert.deepEqual(
          steps.filter((step) => !step.ok).map(({ step }) => step),
          ['answer'],
        );
        assert.match(steps.at(-1)?.detail ?? '', said);
        const { state, lastError } = await report();
        assert.equal(state, 'degraded');
        assert.match(lastError?.detail ?? '', said);
        await configure({ kind });
        assert.equal((await tried()).ok, true);
        assert.equal((await report()).state, 'online');
      });
    }
  }

  test('stays degraded when a call is answered, because only a probe looks at the root', async () => {
    far.answer(servingAt('/restconf', () => httpReply({ status: 404 })));
    await configure({ url: `${far.url}/restconf` });
    await tried();
    assertProblem(await query(), 502, 'upstream-error');
    assert.equal((await report()).state, 'degraded');
  });
});

describe('a test of an adapter instance says what it tried', () => {
  for (const [kind, given, answer, detail] of [
    ['nso', auth, /^GET \/restconf answered 200/u, /auth: basic.*sent/u],
    ['restconf', { type: 'none' }, /^GET \/restconf answered 200/u, /no credentials.*auth: none/u],
    ['rest', auth, /^GET \/ answered 200/u, /auth: basic.*sent.*other paths/u],
  ] as const) {
    test(`with kind ${kind} and auth ${given.type}`, async () => {
      far.answer(servingAt('/restconf', () => jsonReply('{}')));
      await configure({ kind, auth: given });
      const { ok, steps } = await tried();
      assert.equal(ok, true);
      const detailOf = (name: string): string => steps.find(({ step }) => step === name)?.detail ?? '';
      assert.match(detailOf('answer'), answer);
      assert.match(detailOf('authentication'), detail);
    });
  }
});
