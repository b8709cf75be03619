import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertProblem, relay } from './support/callers/calls.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { startGatewayProcess } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { createAuthority } from './support/upstreams/certificate.ts';
import { connectProxy } from './support/upstreams/connect-proxy.ts';
import { tlsUpstream } from './support/upstreams/tls-upstream.ts';
import { closedPort, httpReply, jsonReply, restconfRoot, upstream } from './support/upstreams/upstream.ts';

// The state of each adapter instance, from its calls and its probes, and POST /adapters/:adapterId/test.

interface NodeReport {
  readonly url: string;
  readonly state: string;
  readonly since: string;
  readonly role?: string;
  readonly breaker: string;
  readonly inFlight: number;
  readonly waiting: number;
  readonly lastError?: { readonly code: string; readonly detail: string; readonly at: string };
}

interface AdapterReport extends Omit<NodeReport, 'url' | 'role' | 'breaker' | 'inFlight' | 'waiting'> {
  readonly name: string;
  readonly urls: readonly NodeReport[];
  readonly verify: boolean;
  readonly proxy: boolean;
  readonly healthInterval?: number;
}

interface Trial {
  readonly ok: boolean;
  readonly urls: readonly {
    readonly url: string;
    readonly ok: boolean;
    readonly steps: readonly {
      readonly step: string;
      readonly ok: boolean;
      readonly milliseconds: number;
      readonly detail?: string;
    }[];
  }[];
}

const accept = 'application/yang-data+json';
const ask = { params: { path: 'x', accept } };

const gateway = await startGatewayProcess({ after });

/** NSO without high availability. */
function nso({ target }: { readonly target: string }): Buffer {
  return target === '/restconf' ? restconfRoot() : httpReply({ status: 404 });
}

/** Reloads the gateway with these adapter instances and no others. Each test has names of its own. */
async function configure(...adapters: readonly Readonly<Record<string, unknown>>[]): Promise<void> {
  await reloadWith(gateway, { adapters });
}

async function reports(): Promise<readonly AdapterReport[]> {
  const reply = await gateway.send({ target: '/adapters', role: 'admin' });
  assert.equal(reply.status, 200, reply.text);
  return (reply.json() as { readonly list: readonly AdapterReport[] }).list;
}

function reported(what: (report: AdapterReport) => boolean): Promise<AdapterReport> {
  return until(`a report shows ${what.toString()}`, async () => (await reports()).find(what));
}

async function tried(name: string): Promise<Trial> {
  const reply = await gateway.send({ method: 'POST', target: `/adapters/${encodeURIComponent(name)}/test`, role: 'admin' });
  assert.equal(reply.status, 200, reply.text);
  return reply.json() as Trial;
}

const stepsOf = ({ urls }: Trial): readonly (readonly [string, boolean])[] =>
  (urls[0]?.steps ?? []).map(({ step, ok }) => [step, ok]);

async function readiness(): Promise<unknown> {
  const reply = await gateway.send({ target: '/readyz' });
  assert.equal(reply.status, 200);
  return (reply.json() as { readonly adapters: unknown }).adapters;
}

function adapter(name: string, urls: readonly string[], more: Readonly<Record<string, unknown>> = {}) {
  return { name, kind: 'nso', urls, ...more };
}

describe('the state of an adapter', () => {
  test('follows its calls where probes are off: online with an answer, offline after a refused connection', async (t) => {
    const far = await upstream(t);
    far.answer(() => jsonReply('{}'));
    await configure(adapter('Local NSO', [far.url]));
    const [before] = await reports();
    assert.equal(before?.state, 'unknown');
    assert.equal(before.healthInterval, undefined);
    assert.deepEqual(await readiness(), { unknown: 1, online: 0, degraded: 0, offline: 0 });
    await far.close();
    assertProblem(await relay(gateway, 'restQuery', 'Local NSO', ask), 502);
    const [offline] = await reports();
    assert.equal(offline?.state, 'offline');
    assert.equal(offline.lastError?.code, 'upstream-connect-failed');
    assert.match(offline.lastError.detail, /refused the connection/u);
    assert.ok(offline.since >= before.since && offline.lastError.at >= offline.since);
    assert.deepEqual(await readiness(), { unknown: 0, online: 0, degraded: 0, offline: 1 });
  });

  test('is in the metrics, with breakers and slots, without addresses', async (t) => {
    const far = await upstream(t);
    far.answer(({ target }) => (target === '/x' || target === '/restconf/x' ? undefined : nso({ target })));
    const urls = [far.url, `http://127.0.0.1:${await closedPort()}`];
    await configure(
      adapter('group', urls, { concurrency: 1, health: { interval: '100ms' }, timeouts: { firstByte: '20s' } }),
      adapter('shut', [urls[1] ?? ''], { breaker: { failures: 1, openFor: '1h' } }),
    );
    const metrics = async (): Promise<string> => (await gateway.send({ target: '/metrics', role: 'readonly' })).text;
    await reported(({ state }) => state === 'degraded');
    assertProblem(await relay(gateway, 'restAction', 'shut', { ...ask, body: {} }), 502, 'upstream-connect-failed');
    const stuck = [1, 2].map(() => relay(gateway, 'restQuery', 'group', ask));
    await reported(({ urls: [first] }) => first?.waiting === 1);
    const text = await metrics();
    for (const line of [
      'gateway_adapter_state{adapter="group",state="degraded"} 1',
      'gateway_adapter_state{adapter="group",state="online"} 0',
      'gateway_adapter_state{adapter="shut",state="offline"} 1',
      'gateway_adapter_node_online{adapter="group",node="1"} 1',
      'gateway_adapter_node_online{adapter="group",node="2"} 0',
      'gateway_adapter_breaker{adapter="shut",node="1",state="open"} 1',
      'gateway_adapter_breaker{adapter="group",node="1",state="closed"} 1',
      'gateway_adapter_in_flight{adapter="group",node="1"} 1',
      'gateway_adapter_waiting{adapter="group",node="1"} 1',
    ])
      assert.ok(text.split('\n').includes(line), `${line}\n${text.match(/^gateway_adapter.*$/gmu)?.join('\n')}`);
    // With the colon: the digits without it may be part of any number.
    assert.ok(!text.includes(`:${far.port}`) && !text.includes('127.0.0.1'));
    far.answer((_request, socket) => void socket.destroy());
    await far.close();
    await Promise.all(stuck);
    const after = await metrics();
    assert.match(after, /^gateway_adapter_in_flight\{adapter="group",node="1"\} 0$/mu);
  });

  test('follows its probes: online, degraded, offline, and online again', async (t) => {
    const [one, other] = [await upstream(t, nso), await upstream(t, nso)];
    await configure(
      adapter('probed group', [one.url, other.url], {
        health: { interval: '100ms' },
        auth: { type: 'basic', username: 'gateway', password: 'planted' },
      }),
    );
    const [report] = await reports();
    assert.equal(report?.healthInterval, 100);
    one.answer(() => httpReply({ status: 503, body: 'starting' }));
    const degraded = await reported(({ state, urls }) => state === 'degraded' && urls[1]?.state === 'online');
    assert.equal(degraded.lastError?.code, 'upstream-error');
    assert.match(degraded.lastError.detail, /503/u);
    assert.equal(degraded.urls[0]?.state, 'offline');
    assert.equal(degraded.urls[1]?.state, 'online');
    other.answer((_request, socket) => void socket.destroy());
    await reported(({ state }) => state === 'offline');
    assert.deepEqual(await readiness(), { unknown: 0, online: 0, degraded: 0, offline: 1 });
    one.answer(nso);
    other.answer(nso);
    const again = await reported(({ state }) => state === 'online');
    assert.deepEqual(
      again.urls.map(({ role }) => role),
      ['primary', 'primary'],
    );
    const asked = one.requests.find(({ target }) => target === '/restconf/data/tailf-ncs:high-availability/status');
    assert.equal(asked?.header('authorization'), `Basic ${Buffer.from('gateway:planted').toString('base64')}`);
    assert.doesNotMatch(JSON.stringify(again), /planted/u);
  });

  test('comes from the probe of its kind, below its base address, and is offline where no probe is answered', async (t) => {
    const far = await upstream(t);
    far.answer(() => undefined);
    const more = { health: { interval: '100ms' }, timeouts: { firstByte: '200ms' } };
    await configure(
      { name: 'A', kind: 'rest', url: `${far.url}/rest`, ...more },
      { name: 'B', kind: 'restconf', url: `${far.url}/yang/`, ...more },
    );
    await reported(({ name, state }) => name === 'A' && state === 'offline');
    await reported(({ name, state }) => name === 'B' && state === 'offline');
    const targets = new Set(far.requests.map(({ target }) => target));
    assert.deepEqual([...targets].sort(), ['/rest/', '/yang/restconf']);
  });
});

describe('a test of an adapter', () => {
  test('reports each step with its time', async (t) => {
    const far = await upstream(t, nso);
    await configure(adapter('Tested NSO', [`http://localhost:${far.port}`]));
    const trial = await tried('Tested NSO');
    assert.equal(trial.ok, true);
    assert.deepEqual(stepsOf(trial), [
      ['dns', true],
      ['connect', true],
      ['answer', true],
      ['authentication', true],
    ]);
    for (const { milliseconds } of trial.urls[0]?.steps ?? []) assert.ok(milliseconds >= 0);
    const { connections } = far;
    assert.equal((await tried('Tested NSO')).ok, true);
    assert.ok(far.connections > connections, 'an open connection was used');
  });

  test('names the step that fails and the remedy', async (t) => {
    const [refusing, ill, silent] = [await upstream(t), await upstream(t), await upstream(t)];
    refusing.answer(() => httpReply({ status: 401 }));
    ill.answer(() => httpReply({ status: 502 }));
    silent.answer(() => undefined);
    const tls = await tlsUpstream(t, createAuthority().issue({ names: ['127.0.0.1'] }));
    const timeouts = { firstByte: '200ms', connect: '500ms' };
    await configure(
      adapter('refusing', [refusing.url]),
      adapter('ill', [ill.url]),
      adapter('silent', [silent.url], { timeouts }),
      adapter('untrusted', [tls.url]),
      adapter('any certificate', [tls.url], { kind: 'rest', tls: { verify: false } }),
      adapter('closed', [`http://127.0.0.1:${await closedPort()}`]),
      adapter('no name', ['http://gateway-test.invalid']),
    );
    for (const [name, step, detail] of [
      ['refusing', 'authentication', /wants credentials/u],
      ['ill', 'answer', /502/u],
      ['silent', 'answer', /firstByte/u],
      ['untrusted', 'tls', /certificate|authority|self-signed/u],
      ['closed', 'connect', /refused the connection/u],
      ['no name', 'dns', /gateway-test\.invalid/u],
    ] as const) {
      const trial = await tried(name);
      assert.equal(trial.ok, false, name);
      const failed = trial.urls[0]?.steps.find(({ ok }) => !ok);
      assert.equal(failed?.step, step, name);
      assert.match(failed.detail ?? '', detail, name);
    }
    const trusting = await tried('any certificate');
    assert.deepEqual(
      stepsOf(trusting).map(([step]) => step),
      ['dns', 'connect', 'tls', 'answer', 'authentication'],
    );
    const states = (await reports()).map(({ name, state, verify }) => [name, state, verify]);
    assert.deepEqual(states, [
      ['refusing', 'degraded', true],
      ['ill', 'offline', true],
      ['silent', 'offline', true],
      ['untrusted', 'offline', true],
      ['any certificate', 'online', false],
      ['closed', 'offline', true],
      ['no name', 'offline', true],
    ]);
    assert.ok(gateway.stderr.some((line) => /verify/u.test(line) && /"level":"warn"|"level":40/u.test(line)));
  });

  test('goes through the proxy of the adapter, like probes', async (t) => {
    const far = await upstream(t, nso);
    const proxy = await connectProxy(t);
    await configure(adapter('proxied', [far.url], { proxy: { url: proxy.url }, health: { interval: '200ms' } }));
    await reported(({ urls }) => urls[0]?.role === 'primary');
    assert.ok(proxy.tunnels.length > 0);
    const trial = await tried('proxied');
    assert.deepEqual(
      stepsOf(trial).map(([step]) => step),
      ['dns', 'proxy', 'answer', 'authentication'],
    );
    assert.equal((await reports())[0]?.proxy, true);
  });

  test('answers 404 for an unknown name, with the names that exist', async () => {
    await configure(adapter('reload', ['http://127.0.0.1:9']));
    const reply = await gateway.send({ method: 'POST', target: '/adapters/none/test', role: 'admin' });
    assert.match(assertProblem(reply, 404, 'adapter-not-found').detail, /"reload"/u);
    assert.equal((await tried('reload')).ok, false);
  });
});

// Last: it ends the gateway of the tests above.
test('a probe that hangs does not keep the gateway from stopping', async (t) => {
  const far = await upstream(t);
  far.answer(() => undefined);
  await configure(adapter('hanging', [far.url], { health: { interval: '50ms' } }));
  await until('a probe has arrived', () => far.requests.length > 0);
  assert.equal(far.requests.length, 1);
  const begun = performance.now();
  assert.equal(await gateway.stop(), 0);
  const took = performance.now() - begun;
  assert.ok(took < 8_000, `${took} ms`);
});
