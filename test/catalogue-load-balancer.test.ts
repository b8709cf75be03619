// suite: long

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { before, describe, test } from 'node:test';
import type { BalancedReply } from './support/gateway/balanced-request.ts';
import { type Haproxy, noHaproxy, startHaproxy } from './support/gateway/haproxy.ts';
import { type GatewayProcess, startGatewayProcess } from './support/gateway/start-gateway.ts';
import { type Owner, suiteOwner } from './support/owner.ts';
import { foundPostgres, storeUrl } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { closedPort, freePort, httpReply, jsonReply, type Upstream, upstream } from './support/upstreams/upstream.ts';

// docs/guides/haproxy.cfg, unchanged, in front of gateways on one PostgreSQL, and in front of gateways that misbehave.

const missing = noHaproxy || (foundPostgres === undefined && process.env['CI'] !== 'true' && 'no PostgreSQL answers');

const lanes = 8;
const action = '/orchestrator_manager/restAction/Orchestrator';
const actionBody = JSON.stringify({ params: { path: '/x', accept: 'application/json' }, body: { n: 1 } });

interface Cluster {
  readonly gateways: [GatewayProcess, GatewayProcess];
  readonly orchestrator: Upstream;
  readonly haproxy: Haproxy;
  readonly headers: Readonly<Record<string, string>>;
}

async function done(): Promise<Buffer> {
  await new Promise((resolve) => setTimeout(resolve, 15));
  return jsonReply('{"done":true}');
}

/** Two gateways on fixed ports, one PostgreSQL and one orchestrator, HAProxy before them. */
async function cluster(owner: Owner): Promise<Cluster> {
  assert.ok(foundPostgres !== undefined, 'no PostgreSQL answers');
  const store = { url: storeUrl(await foundPostgres.fresh(owner)) };
  const orchestrator = await upstream(owner, done);
  const ports = [await freePort(), await freePort()] as const;
  const start = (port: number): Promise<GatewayProcess> =>
    startGatewayProcess(owner, {
      config: { server: { port, trustedProxies: ['127.0.0.1'] }, store },
      adapters: [{ name: 'Orchestrator', kind: 'rest', url: orchestrator.url, concurrency: 200 }],
    });
  const [one, other] = await Promise.all([start(ports[0]), start(ports[1])]);
  const haproxy = await startHaproxy(owner, [ports[0], ports[1]]);
  await Promise.all([haproxy.becomes('gateway-1', 'UP'), haproxy.becomes('gateway-2', 'UP')]);
  const headers = { Authorization: `Bearer ${await one.tokenFor('admin')}`, 'Content-Type': 'application/json' };
  return { gateways: [one, other], orchestrator, haproxy, headers };
}

/** Calls that run in several lanes until `end` is called. */
class Calls {
  readonly replies: BalancedReply[] = [];
  readonly failures: unknown[] = [];
  sent = 0;
  #hasEnded = false;
  readonly #lanes: Promise<unknown>;
  #waiting: (() => void)[] = [];

  constructor({ haproxy, headers }: Cluster, lanes: number) {
    const lane = async (): Promise<void> => {
      while (!this.#hasEnded && this.failures.length <= 100) {
        this.sent += 1;
        try {
          this.replies.push(await haproxy.send({ method: 'POST', path: action, headers, body: actionBody }));
        } catch (error) {
          this.failures.push(error);
        }
        const waiting = this.#waiting;
        this.#waiting = [];
        for (const resolve of waiting) resolve();
      }
    };
    this.#lanes = Promise.all(Array.from({ length: lanes }, lane));
  }

  /** Resolves when this number of further calls were answered. */
  async more(count: number): Promise<void> {
    const goal = this.replies.length + count;
    while (this.replies.length < goal) {
      if (this.failures.length > 100) throw this.failures[0];
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  async end(): Promise<void> {
    this.#hasEnded = true;
    await this.#lanes;
  }
}

/** The statuses of requests for an action's path, one after the other on one connection; rejects where a stream is not answered. */
async function overHttp2({ url, ca }: Haproxy, methods: readonly string[]): Promise<readonly number[]> {
  const session = connect(url, { ca });
  const statuses: number[] = [];
  try {
    for (const method of methods) {
      const stream = session.request({ ':method': method, ':path': action });
      stream.end(method === 'POST' ? actionBody : undefined);
      const [headers] = (await once(stream, 'response')) as [{ readonly ':status': number }];
      statuses.push(headers[':status']);
      stream.resume();
      await once(stream, 'close');
    }
  } finally {
    session.destroy();
  }
  return statuses;
}

function requestsIn(gateway: GatewayProcess): readonly { readonly route?: string; readonly sourceAddress?: string }[] {
  return gateway.stderr
    .filter((line) => line.startsWith('{') && line.includes('"msg":"request"'))
    .map((line) => JSON.parse(line) as { readonly route?: string; readonly sourceAddress?: string })
    .filter(({ route }) => route !== '/readyz' && route !== '/healthz');
}

describe('HAProxy as the guide configures it', { skip: missing }, () => {
  let balanced: Cluster;
  const owner = suiteOwner();
  before(async () => {
    balanced = await cluster(owner);
  });

  test('spreads calls, with a token of either gateway, and hands the caller’s own address on', async () => {
    const { gateways, haproxy, headers } = balanced;
    for (let count = 0; count < 20; count += 1) {
      const forged = { ...headers, 'X-Forwarded-For': '203.0.113.9' };
      const reply = await haproxy.send({ path: '/whoami', headers: forged, from: '127.0.0.7' });
      assert.equal(reply.status, 200, reply.text);
    }
    const askedOf = (gateway: GatewayProcess): ReturnType<typeof requestsIn> =>
      requestsIn(gateway).filter(({ route }) => route === '/whoami');
    await until('all are logged', () => gateways.flatMap(askedOf).length >= 20);
    for (const gateway of gateways) {
      const asked = askedOf(gateway);
      assert.ok(asked.length >= 5, `${asked.length} of 20 calls`);
      assert.deepEqual([...new Set(asked.map(({ sourceAddress }) => sourceAddress))], ['127.0.0.7']);
    }
  });

  test('loses no call while one gateway after the other is taken out, drains and is started again', async () => {
    const { gateways, haproxy, orchestrator } = balanced;
    orchestrator.answer(done);
    const calls = new Calls(balanced, lanes);
    for (const index of [0, 1] as const) {
      await calls.more(60);
      const name = index === 0 ? 'gateway-1' : 'gateway-2';
      await haproxy.takeOut(name);
      assert.equal(await gateways[index].stop('SIGTERM'), 0);
      await calls.more(60);
      gateways[index] = await gateways[index].restart();
      await haproxy.ask(`set server gateways/${name} state ready`);
      await haproxy.becomes(name, 'UP');
    }
    await calls.more(60);
    await calls.end();
    assert.deepEqual(calls.failures, []);
    assert.deepEqual(
      calls.replies.filter(({ status }) => status !== 200).map(({ status, text }) => `${status} ${text}`),
      [],
    );
    assert.equal(orchestrator.requests.length, calls.sent, 'actions that reached the orchestrator');
  });

  test('loses no action that a gateway had begun when it drains without being taken out first', async () => {
    const { gateways, haproxy, orchestrator } = balanced;
    orchestrator.answer(done);
    const calls = new Calls(balanced, lanes);
    await calls.more(60);
    assert.equal(await gateways[0].stop('SIGTERM'), 0);
    await haproxy.becomes('gateway-1', 'DOWN');
    await calls.more(60);
    await calls.end();
    // A connection that was made as the gateway stopped listening ends in 502: the gateway did not read its call, and sent no action.
    const answered = calls.replies.filter(({ status }) => status === 200);
    assert.equal(orchestrator.requests.length, answered.length, 'actions that reached the orchestrator');
    for (const { status } of calls.replies) assert.ok(status === 200 || status === 502, String(status));
    assert.deepEqual(calls.failures, []);
    gateways[0] = await gateways[0].restart();
    await haproxy.becomes('gateway-1', 'UP');
  });

  test('takes a gateway out that was killed: only the calls that it had fail, and no action is sent twice', async () => {
    const { gateways, haproxy, orchestrator } = balanced;
    orchestrator.answer(done);
    const calls = new Calls(balanced, lanes);
    await calls.more(60);
    await gateways[0].stop('SIGKILL');
    await haproxy.becomes('gateway-1', 'DOWN');
    const before = calls.replies.length;
    await calls.more(60);
    await calls.end();
    const failed = calls.replies.filter(({ status }) => status !== 200);
    assert.ok(failed.length <= lanes, `${failed.length} of ${lanes} lanes`);
    assert.deepEqual(calls.failures, []);
    for (const { status } of failed) assert.equal(status, 502);
    assert.deepEqual(
      calls.replies.slice(before).filter(({ status }) => status !== 200),
      [],
    );
    assert.ok(orchestrator.requests.length <= calls.sent, 'an action was sent twice');
    gateways[0] = await gateways[0].restart();
    await haproxy.becomes('gateway-1', 'UP');
  });
});

describe('HAProxy as the guide configures it, before gateways that misbehave', { skip: noHaproxy }, () => {
  const alive = jsonReply('{"status":"ok"}');
  const isCheck = (target: string): boolean => target === '/readyz' || target === '/healthz';

  test('does not send an action again that left and was not answered, and says 502, also on a kept connection', async (t) => {
    for (const misdeed of ['end', 'reset'] as const) {
      const gateways = [await upstream(t), await upstream(t)] as const;
      for (const gateway of gateways) {
        gateway.answer(({ method, target }, socket) => {
          if (isCheck(target) || method === 'GET') return alive;
          if (misdeed === 'end') socket.end();
          else socket.resetAndDestroy();
          return undefined;
        });
      }
      const haproxy = await startHaproxy(t, [gateways[0].port, gateways[1].port]);
      const actions = (): number => gateways.flatMap(({ requests }) => requests).filter(({ method }) => method === 'POST').length;
      for (let count = 1; count <= 7; count += 2) {
        // The GET leaves a connection from the caller to HAProxy, which the action then uses.
        assert.equal((await haproxy.send({ path: '/whoami' })).status, 200);
        const reply = await haproxy.send({ method: 'POST', path: action, body: actionBody });
        assert.equal(reply.status, 502);
        assert.equal(actions(), count);
        // "Refused stream" (RFC 9113, 8.7) would let the caller's HTTP library send the action again.
        assert.deepEqual(await overHttp2(haproxy, ['GET', 'POST']), [200, 502]);
        assert.equal(actions(), count + 1);
      }
    }
  });

  test('sends a call to the other gateway where the first one cannot be reached', async (t) => {
    const gateway = await upstream(t, () => alive);
    const haproxy = await startHaproxy(t, [await closedPort(), gateway.port]);
    for (let count = 0; count < 10; count += 1) {
      assert.equal((await haproxy.send({ method: 'POST', path: action, body: actionBody })).status, 200);
    }
    await haproxy.becomes('gateway-1', 'DOWN');
  });

  test('leaves the answer to gateways that are alive where none is ready', async (t) => {
    const refusal = httpReply({
      status: 503,
      headers: { 'Content-Type': 'application/problem+json', 'Retry-After': '1' },
      body: '{"code":"store-unavailable"}',
    });
    const gateways = [await upstream(t), await upstream(t)] as const;
    for (const gateway of gateways) gateway.answer(({ target }) => (target === '/healthz' ? alive : refusal));
    const haproxy = await startHaproxy(t, [gateways[0].port, gateways[1].port]);
    await Promise.all([haproxy.becomes('gateway-1', 'DOWN'), haproxy.becomes('gateway-2', 'DOWN')]);
    const reply = await haproxy.send({ path: '/automation_catalog/automations' });
    assert.equal(reply.status, 503);
    assert.equal(reply.headers['retry-after'], '1');
    assert.equal(reply.text, '{"code":"store-unavailable"}');
  });
});
