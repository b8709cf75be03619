import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { after, describe, type TestContext, test } from 'node:test';
import { assertProblem, instancesOf, relay } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { listen } from './support/listen.ts';
import { until } from './support/until.ts';
import { closedPort, type FarHandler, httpReply, jsonReply, type Upstream, upstream } from './support/upstreams/upstream.ts';

// An adapter instance with several urls: the kind finds the primary, actions go to the primary only, queries to any node that answers.

const accept = 'application/yang-data+json';
const gateway = await startGateway({ after });

/** A node of an NSO high-availability group that reports its role, and counts actions, queries and probes. */
class Node {
  readonly far: Upstream;
  mode: string;
  readOnly = false;
  /** The role in a Raft group, where there is one. */
  raft: string | undefined;
  applied = 0;
  asked = 0;
  probes = 0;

  constructor(far: Upstream, mode: string) {
    this.far = far;
    this.mode = mode;
    this.serve();
  }

  serve(): void {
    this.far.onConnection(undefined);
    this.far.answer((request, socket) => this.#answer(request, socket));
  }

  readonly #answer: FarHandler = ({ method, target }) => {
    if (target.endsWith('/status')) {
      this.probes += 1;
      return jsonReply(`{"tailf-ncs:status":{"mode":"${this.mode}","read-only-mode":${this.readOnly}}}`, { type: accept });
    }
    if (target.endsWith(':ha-raft/status/role')) {
      if (this.raft === undefined) return httpReply({ status: 404 });
      return jsonReply(`{"tailf-ncs:role":"${this.raft}"}`, { type: accept });
    }
    if (method === 'GET') {
      this.asked += 1;
      return jsonReply(`{"x:list":[{"by":"${this.far.port}"}]}`, { type: accept });
    }
    if (this.readOnly || this.mode === 'secondary') {
      const error = '{"error-type":"application","error-tag":"operation-failed","error-message":"node is in readonly mode"}';
      return jsonReply(`{"ietf-restconf:errors":{"error":[${error}]}}`, { status: 500, type: accept });
    }
    this.applied += 1;
    return httpReply({ status: 204 });
  };

  /** New connections are reset, and open ones break at their next use. */
  die(): void {
    this.far.answer((_request, socket) => void socket.destroy());
    this.far.onConnection((socket) => socket.resetAndDestroy());
  }
}

/** Reloads the gateway with one adapter instance, which has a name of its own; resolves to the name. */
async function instance(adapter: Readonly<Record<string, unknown>>): Promise<string> {
  instances += 1;
  const name = `group-${instances}`;
  await reloadWith(gateway, { adapters: [{ kind: 'nso', ...adapter, name }] });
  return name;
}

let instances = 0;

async function group(t: TestContext, modes: readonly string[], more: Readonly<Record<string, unknown>> = {}) {
  const nodes: Node[] = [];
  for (const mode of modes) nodes.push(new Node(await upstream(t), mode));
  return { nodes, name: await instance({ urls: nodes.map(({ far }) => far.url), ...more }) };
}

const action = (name: string): Promise<Reply> =>
  relay(gateway, 'restAction', name, { params: { path: 'restconf/operations/act', accept }, body: {} });
const query = (name: string): Promise<Reply> =>
  relay(gateway, 'restQuery', name, { params: { path: 'restconf/data/x:list', accept } });

/** The reply, and the milliseconds that it took. */
async function timed(reply: Promise<Reply>): Promise<{ readonly reply: Reply; readonly took: number }> {
  const begun = performance.now();
  return { reply: await reply, took: performance.now() - begun };
}

describe('with several urls', () => {
  test('an action goes to the primary only, at any place in the list and with the names of any release', async (t) => {
    for (const [primary, secondary] of [
      ['primary', 'secondary'],
      ['master', 'slave'],
      ['leader', 'follower'],
    ] as const) {
      const { nodes, name } = await group(t, [secondary, primary]);
      for (let count = 0; count < 5; count += 1) assert.equal((await action(name)).status, 200);
      assert.deepEqual(
        nodes.map(({ applied }) => applied),
        [0, 5],
      );
      assert.equal((await query(name)).status, 200);
      assert.equal(nodes[1]?.asked, 1);
    }
  });

  test('an action goes to the primary without waiting for a node that hangs', async (t) => {
    const { nodes, name } = await group(t, ['primary', 'secondary']);
    const [first, second] = nodes;
    second?.far.answer(() => undefined);
    const { reply, took } = await timed(action(name));
    assert.equal(reply.status, 200);
    assert.ok(took < 5_000, `${took} ms`);
    assert.equal(first?.applied, 1);
  });

  test('a query goes to the other node at once where the first answers with a long Retry-After', async (t) => {
    const { nodes, name } = await group(t, ['none', 'none']);
    nodes[0]?.far.answer(() => httpReply({ status: 503, headers: { 'Retry-After': '3600' }, body: 'maintenance' }));
    const { reply, took } = await timed(query(name));
    assert.equal(reply.status, 200, reply.text);
    assert.ok(took < 5_000, `${took} ms`);
    assert.equal(nodes[1]?.asked, 1);
    nodes[1]?.far.answer(() => httpReply({ status: 503, headers: { 'Retry-After': '3600' }, body: 'maintenance' }));
    assertProblem(await query(name), 502, 'upstream-error');
  });

  test('the leader of a Raft group is the primary', async (t) => {
    const { nodes, name } = await group(t, ['none', 'none']);
    const [follower, leader] = nodes;
    assert.ok(follower !== undefined && leader !== undefined);
    [follower.raft, leader.raft] = ['follower', 'leader'];
    assert.equal((await action(name)).status, 200);
    assert.deepEqual([follower.applied, leader.applied], [0, 1]);
  });

  test('the first node that answers is the primary where nodes have no high availability', async (t) => {
    const { nodes, name } = await group(t, ['none', 'none']);
    assert.equal((await action(name)).status, 200);
    nodes[0]?.die();
    await until('an action succeeds again', async () => (await action(name)).status === 200);
    assert.deepEqual(
      nodes.map(({ applied }) => applied),
      [1, 1],
    );
  });

  test('a query goes to another node at once where the first cannot be reached', async (t) => {
    const node = new Node(await upstream(t), 'none');
    const urls = [`http://127.0.0.1:${await closedPort()}`, node.far.url];
    const name = await instance({ urls });
    for (let count = 0; count < 3; count += 1) {
      const { reply, took } = await timed(query(name));
      assert.deepEqual(instancesOf(reply), [{ by: String(node.far.port) }]);
      assert.ok(took < 5_000, `${took} ms`);
    }
  });

  test('a node that accepts connections and never answers the TLS handshake counts as unreachable', async (t) => {
    const node = new Node(await upstream(t), 'none');
    const silent = await listen(t, createServer());
    const urls = [`https://127.0.0.1:${silent.port}`, node.far.url];
    const name = await instance({ urls, timeouts: { connect: '300ms' } });
    for (let count = 0; count < 3; count += 1) assert.equal((await query(name)).status, 200);
    const { text } = await gateway.send({ target: '/adapters', role: 'admin' });
    assert.match(text, /"state":"degraded"/u);
    const trial = await gateway.send({ method: 'POST', target: `/adapters/${name}/test`, role: 'admin' });
    const { urls: tried } = trial.json() as {
      readonly urls: readonly { readonly steps: readonly { readonly step: string; readonly ok: boolean }[] }[];
    };
    assert.equal(tried[0]?.steps.find(({ ok }) => !ok)?.step, 'tls');
  });

  test('an action whose connection breaks after it was sent is not sent to another node', async (t) => {
    const { nodes, name } = await group(t, ['primary', 'none']);
    const [primary, other] = nodes;
    assert.ok(primary !== undefined && other !== undefined);
    assert.equal((await action(name)).status, 200);
    let seen = 0;
    primary.far.answer(({ method }, socket) => {
      if (method === 'POST') seen += 1;
      socket.destroy();
    });
    assertProblem(await action(name), 502, 'outcome-unknown');
    assert.equal(seen, 1);
    assert.equal(other.applied, 0);
  });

  test('an action is refused, and nothing sent, while no node is the primary', async (t) => {
    const { nodes, name } = await group(t, ['secondary', 'secondary']);
    const refused = assertProblem(await action(name), 503, 'adapter-unavailable');
    for (const { far } of nodes) assert.match(refused.detail, new RegExp(`${far.url} is secondary`, 'u'));
    assert.equal((await query(name)).status, 200);
    const read = { params: { method: 'GET', path: 'restconf/data/x:list', accept } };
    assert.equal((await relay(gateway, 'restRequest', name, read)).status, 200, 'a GET is a query');
    const [first] = nodes;
    if (first !== undefined) first.mode = 'primary';
    assert.equal((await action(name)).status, 200);
    assert.deepEqual(
      nodes.map(({ applied }) => applied),
      [1, 0],
    );
  });
});

describe('a primary', () => {
  test('that refuses connections is left at once, also by an action of which no byte was sent', async (t) => {
    const { nodes, name } = await group(t, ['primary', 'secondary']);
    const [old, next] = nodes;
    assert.ok(old !== undefined && next !== undefined);
    assert.equal((await action(name)).status, 200);
    await old.far.close();
    next.mode = 'primary';
    // The open connection is broken: the outcome of one action may be unknown, the next action finds the new primary.
    const replies = [await action(name), await action(name)];
    assert.equal(replies[1]?.status, 200);
    assert.equal(old.applied, 1);
    assert.ok(next.applied >= 1);
  });

  test('that becomes read-only is left within a probe, and the refused action is not sent again', async (t) => {
    const { nodes, name } = await group(t, ['primary', 'secondary']);
    const [old, next] = nodes;
    assert.ok(old !== undefined && next !== undefined);
    assert.equal((await action(name)).status, 200);
    [old.mode, next.mode] = ['secondary', 'primary'];
    const refused = assertProblem(await action(name), 502, 'upstream-error');
    assert.match(refused.detail, /readonly mode/u);
    assert.deepEqual([old.applied, next.applied], [1, 0]);
    assert.equal((await action(name)).status, 200);
    assert.deepEqual([old.applied, next.applied], [1, 1]);
  });

  test('that changes is found by probes, before any call fails', async (t) => {
    const { nodes, name } = await group(t, ['primary', 'secondary'], { health: { interval: '200ms' } });
    const [old, next] = nodes;
    assert.ok(old !== undefined && next !== undefined);
    assert.equal((await action(name)).status, 200);
    [old.mode, next.mode] = ['secondary', 'primary'];
    const seen = next.probes;
    await until('two more probes', () => next.probes > seen + 1);
    assert.equal((await action(name)).status, 200);
    assert.deepEqual([old.applied, next.applied], [1, 1]);
  });

  test('that is in read-only mode gets queries and no action', async (t) => {
    const { nodes, name } = await group(t, ['primary', 'secondary']);
    const [primary] = nodes;
    assert.ok(primary !== undefined);
    primary.readOnly = true;
    assert.match(assertProblem(await action(name), 503, 'adapter-unavailable').detail, /is read-only/u);
    assert.equal((await query(name)).status, 200);
    const { probes } = primary;
    for (let count = 0; count < 3; count += 1) assert.equal((await query(name)).status, 200);
    assert.equal(primary.probes, probes, 'a query needs no probe of roles');
    primary.readOnly = false;
    assert.equal((await action(name)).status, 200);
  });
});

test('an action goes to a node whose breaker is closed where all nodes are primary', async (t) => {
  const [ill, well] = [await upstream(t), await upstream(t)];
  ill.answer(({ method }) => httpReply({ status: method === 'GET' ? 204 : 500 }));
  well.answer(() => httpReply({ status: 204 }));
  const breaker = { failures: 2, openFor: '1h' };
  const name = await instance({ kind: 'rest', urls: [ill.url, well.url], breaker, health: { interval: '50ms' } });
  for (let count = 0; count < 2; count += 1) assertProblem(await action(name), 502, 'upstream-error');
  assert.equal((await action(name)).status, 200);
  // Probes of the first node succeed all the time: they do not bring actions back to that node.
  const seen = ill.requests.length;
  await until('three more requests', () => ill.requests.length > seen + 2);
  assert.equal((await action(name)).status, 200);
});

test('an adapter with one url sends actions there, with any role that the node reports', async (t) => {
  const { nodes, name } = await group(t, ['secondary']);
  assertProblem(await action(name), 502, 'upstream-error');
  assert.equal(nodes[0]?.probes, 0);
});
