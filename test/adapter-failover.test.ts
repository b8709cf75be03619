import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { assertProblem, instancesOf, relay } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { closedPort, type FarHandler, type FarSide, farSide, httpReply, jsonReply } from './support/far-sides/far-side.ts';
import { type Gateway, startGateway } from './support/gateway/start-gateway.ts';
import { listen } from './support/listen.ts';
import { until } from './support/until.ts';

// Contract 10 with several urls: the primary by the kind's own means, actions to it alone, queries to any that answers.

const accept = 'application/yang-data+json';

/** A node of an NSO high-availability group that says what it is, and counts what comes beside probes. */
class Node {
  readonly far: FarSide;
  mode: string;
  readOnly = false;
  /** The role in a Raft group, where there is one. */
  raft: string | undefined;
  applied = 0;
  asked = 0;
  probes = 0;

  constructor(far: FarSide, mode: string) {
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

  /** New connections are reset, and those that stand already break at their next use. */
  die(): void {
    this.far.answer((_request, socket) => void socket.destroy());
    this.far.onConnection((socket) => socket.resetAndDestroy());
  }
}

async function group(t: TestContext, modes: readonly string[], more: Readonly<Record<string, unknown>> = {}) {
  const nodes: Node[] = [];
  for (const mode of modes) nodes.push(new Node(await farSide(t), mode));
  const adapter = { name: 'group', kind: 'nso', urls: nodes.map(({ far }) => far.url), health: 'off', ...more };
  return { nodes, gateway: await startGateway(t, { adapters: [adapter] }) };
}

const action = (gateway: Gateway): Promise<Reply> =>
  relay(gateway, 'restAction', 'group', { params: { path: 'restconf/operations/act', accept }, body: {} });
const query = (gateway: Gateway): Promise<Reply> =>
  relay(gateway, 'restQuery', 'group', { params: { path: 'restconf/data/x:list', accept } });

describe('with several urls', () => {
  test('an action goes to the primary alone, wherever it stands in the list, and whatever a release calls it', async (t) => {
    for (const [primary, secondary] of [
      ['primary', 'secondary'],
      ['master', 'slave'],
      ['leader', 'follower'],
    ] as const) {
      const { nodes, gateway } = await group(t, [secondary, primary]);
      for (let count = 0; count < 5; count += 1) assert.equal((await action(gateway)).status, 200);
      assert.deepEqual(
        nodes.map(({ applied }) => applied),
        [0, 5],
      );
      assert.equal((await query(gateway)).status, 200);
      assert.equal(nodes[1]?.asked, 1);
    }
  });

  test('an action does not wait for nodes that hang, once the primary is known', async (t) => {
    const { nodes, gateway } = await group(t, ['primary', 'secondary']);
    const [first, second] = nodes;
    second?.far.answer(() => undefined);
    const begun = performance.now();
    assert.equal((await action(gateway)).status, 200);
    assert.ok(performance.now() - begun < 5_000);
    assert.equal(first?.applied, 1);
  });

  test('a query goes on to the other node at once, however long the first wants to be left alone', async (t) => {
    const { nodes, gateway } = await group(t, ['none', 'none']);
    nodes[0]?.far.answer(() => httpReply({ status: 503, headers: { 'Retry-After': '3600' }, body: 'maintenance' }));
    const reply = await query(gateway);
    assert.equal(reply.status, 200, reply.text);
    assert.equal(nodes[1]?.asked, 1);
    nodes[1]?.far.answer(() => httpReply({ status: 503, headers: { 'Retry-After': '3600' }, body: 'maintenance' }));
    assertProblem(await query(gateway), 502, 'upstream-error');
  });

  test('the leader of a Raft group is the primary', async (t) => {
    const { nodes, gateway } = await group(t, ['none', 'none']);
    const [follower, leader] = nodes;
    assert.ok(follower !== undefined && leader !== undefined);
    [follower.raft, leader.raft] = ['follower', 'leader'];
    assert.equal((await action(gateway)).status, 200);
    assert.deepEqual([follower.applied, leader.applied], [0, 1]);
  });

  test('where nodes know no high availability, the first that answers is the primary', async (t) => {
    const { nodes, gateway } = await group(t, ['none', 'none']);
    assert.equal((await action(gateway)).status, 200);
    nodes[0]?.die();
    await until('an action is taken again', async () => (await action(gateway)).status === 200);
    assert.deepEqual(
      nodes.map(({ applied }) => applied),
      [1, 1],
    );
  });

  test('a query goes to another node where the first cannot be reached, at once', async (t) => {
    const { nodes } = await group(t, ['none']);
    const [node] = nodes;
    assert.ok(node !== undefined);
    const urls = [`http://127.0.0.1:${await closedPort()}`, node.far.url];
    const gateway = await startGateway(t, { adapters: [{ name: 'group', kind: 'nso', urls }] });
    for (let count = 0; count < 3; count += 1)
      assert.deepEqual(instancesOf(await query(gateway)), [{ by: String(node.far.port) }]);
  });

  test('a node that takes connections and lets the TLS handshake hang counts as one that cannot be reached', async (t) => {
    const { nodes } = await group(t, ['none']);
    const silent = await listen(t, createServer());
    const urls = [`https://127.0.0.1:${silent.port}`, nodes[0]?.far.url];
    const adapter = { name: 'group', kind: 'nso', urls, timeouts: { connect: '300ms' } };
    const gateway = await startGateway(t, { adapters: [adapter] });
    for (let count = 0; count < 3; count += 1) assert.equal((await query(gateway)).status, 200);
    const { text } = await gateway.send({ target: '/adapters', role: 'admin' });
    assert.match(text, /"state":"degraded"/u);
    const trial = await gateway.send({ method: 'POST', target: '/adapters/group/test', role: 'admin' });
    const { urls: tried } = trial.json() as {
      readonly urls: readonly { readonly steps: readonly { readonly step: string; readonly ok: boolean }[] }[];
    };
    assert.equal(tried[0]?.steps.find(({ ok }) => !ok)?.step, 'tls');
  });

  test('an action is refused, and nothing sent, while no node is the primary', async (t) => {
    const { nodes, gateway } = await group(t, ['secondary', 'secondary']);
    const refused = assertProblem(await action(gateway), 503, 'adapter-unavailable');
    for (const { far } of nodes) assert.match(refused.detail, new RegExp(`${far.url} is secondary`, 'u'));
    assert.equal((await query(gateway)).status, 200);
    const read = { params: { method: 'GET', path: 'restconf/data/x:list', accept } };
    assert.equal((await relay(gateway, 'restRequest', 'group', read)).status, 200, 'what only reads is a query');
    const [first] = nodes;
    if (first !== undefined) first.mode = 'primary';
    assert.equal((await action(gateway)).status, 200);
    assert.deepEqual(
      nodes.map(({ applied }) => applied),
      [1, 0],
    );
  });
});

describe('a primary', () => {
  test('that refuses connections is left at once, and by the actions that none of its bytes left for', async (t) => {
    const { nodes, gateway } = await group(t, ['primary', 'secondary']);
    const [old, next] = nodes;
    assert.ok(old !== undefined && next !== undefined);
    assert.equal((await action(gateway)).status, 200);
    await old.far.close();
    next.mode = 'primary';
    // The connection that stood is broken: of one action the outcome may be unknown, the next one finds the new primary.
    const replies = [await action(gateway), await action(gateway)];
    assert.equal(replies[1]?.status, 200);
    assert.equal(old.applied, 1);
    assert.ok(next.applied >= 1);
  });

  test('that becomes read-only is left within a probe, and the refused action is not sent again', async (t) => {
    const { nodes, gateway } = await group(t, ['primary', 'secondary']);
    const [old, next] = nodes;
    assert.ok(old !== undefined && next !== undefined);
    assert.equal((await action(gateway)).status, 200);
    [old.mode, next.mode] = ['secondary', 'primary'];
    const refused = assertProblem(await action(gateway), 502, 'upstream-error');
    assert.match(refused.detail, /readonly mode/u);
    assert.deepEqual([old.applied, next.applied], [1, 0]);
    assert.equal((await action(gateway)).status, 200);
    assert.deepEqual([old.applied, next.applied], [1, 1]);
  });

  test('that changes is found by the probes alone, without a call that fails', async (t) => {
    const { nodes, gateway } = await group(t, ['primary', 'secondary'], { health: { interval: '200ms' } });
    const [old, next] = nodes;
    assert.ok(old !== undefined && next !== undefined);
    assert.equal((await action(gateway)).status, 200);
    [old.mode, next.mode] = ['secondary', 'primary'];
    const seen = next.probes;
    await until('two more probes', () => next.probes > seen + 1);
    assert.equal((await action(gateway)).status, 200);
    assert.deepEqual([old.applied, next.applied], [1, 1]);
  });

  test('that is in read-only mode gets no action, and queries as before', async (t) => {
    const { nodes, gateway } = await group(t, ['primary', 'secondary']);
    const [primary] = nodes;
    assert.ok(primary !== undefined);
    primary.readOnly = true;
    assert.match(assertProblem(await action(gateway), 503, 'adapter-unavailable').detail, /is read-only/u);
    assert.equal((await query(gateway)).status, 200);
    const { probes } = primary;
    for (let count = 0; count < 3; count += 1) assert.equal((await query(gateway)).status, 200);
    assert.equal(primary.probes, probes, 'queries ask nobody for roles');
    primary.readOnly = false;
    assert.equal((await action(gateway)).status, 200);
  });

  test('an action whose connection breaks after it left is not sent to another node', async (t) => {
    const { nodes, gateway } = await group(t, ['primary', 'none']);
    const [primary, other] = nodes;
    assert.ok(primary !== undefined && other !== undefined);
    assert.equal((await action(gateway)).status, 200);
    let seen = 0;
    primary.far.answer(({ method }, socket) => {
      if (method === 'POST') seen += 1;
      socket.destroy();
    });
    assertProblem(await action(gateway), 502, 'outcome-unknown');
    assert.equal(seen, 1);
    assert.equal(other.applied, 0);
  });
});

test('of nodes that are all primary an action goes to one whose breaker is closed', async (t) => {
  const [ill, well] = [await farSide(t), await farSide(t)];
  ill.answer(({ method }) => httpReply({ status: method === 'GET' ? 204 : 500 }));
  well.answer(() => httpReply({ status: 204 }));
  const breaker = { failures: 2, openFor: '1h' };
  const adapter = { name: 'group', kind: 'rest', urls: [ill.url, well.url], breaker, health: { interval: '50ms' } };
  const gateway = await startGateway(t, { adapters: [adapter] });
  for (let count = 0; count < 2; count += 1) assertProblem(await action(gateway), 502, 'upstream-error');
  assert.equal((await action(gateway)).status, 200);
  // Its probes succeed all the while: they do not bring actions back to it.
  const seen = ill.requests.length;
  await until('three more requests', () => ill.requests.length > seen + 2);
  assert.equal((await action(gateway)).status, 200);
});

test('an adapter with one url sends actions there, whatever the node says of itself', async (t) => {
  const { nodes, gateway } = await group(t, ['secondary']);
  assertProblem(await action(gateway), 502, 'upstream-error');
  assert.equal(nodes[0]?.probes, 0);
});
