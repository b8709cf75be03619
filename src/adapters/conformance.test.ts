import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { systemClock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { noLog } from '#base/log.ts';
import { Secret } from '#base/secret.ts';
import { CallScope } from '#outbound/call/call-scope.ts';
import { createSender } from '#outbound/call/sender.ts';
import { createConnector } from '#outbound/dialling/connector.ts';
import { createResolver } from '#outbound/dialling/resolver.ts';
import { closedPort, httpReply, jsonReply, type Upstream, upstream } from '../../test/support/upstreams/upstream.ts';
import { type AdapterCall, type AdapterInstance, createAdapterInstance } from './adapter-instance.ts';
import { adapterKinds } from './adapter-kinds.ts';
import { createCredentials } from './credentials/credential-kinds.ts';
import type { AdapterAuthentication } from './credentials/credentials.ts';
import { createRefusalGuard } from './credentials/refusal-guard.ts';
import { createAdapterNode } from './nodes/adapter-node.ts';

const everything = { actions: ['**'], queries: ['**'] };
const nothing = { actions: [], queries: [] };
const query: AdapterCall = {
  method: 'GET',
  path: 'restconf/data/x',
  headers: ['Accept', 'application/yang-data+json'],
  retry: 'query',
};
const action: AdapterCall = {
  method: 'POST',
  path: 'restconf/data/x/act',
  headers: [],
  body: Buffer.from('{"a":1.0}'),
  retry: 'action',
};

/** These tests run for every adapter kind, over real sockets. */
for (const kind of Object.values(adapterKinds)) {
  const instanceOf = (
    t: TestContext,
    url: string,
    auth: AdapterAuthentication = { type: 'none' },
    firstByte = 5_000,
  ): AdapterInstance => {
    const connect = createConnector({ resolve: createResolver({ concurrency: 2 }), timeouts: { dns: 3_000, connect: 3_000 } });
    const options = {
      name: 'x',
      timeouts: { firstByte, idle: 5_000, total: 10_000 },
      responseLimit: 1_000_000,
      concurrency: 4,
      queue: 4,
      breaker: { failures: 100, openFor: 1_000 },
      health: 'off',
      allowPaths: everything,
      denyPaths: nothing,
    } as const;
    const credentials = createCredentials({
      issuer: 'orchestration-gateway',
      name: 'x',
      authentication: auth,
      openTokenSender: () => createSender({ connect }),
      clock: systemClock,
      userAgent: 'test',
    });
    const node = createAdapterNode({
      url,
      kind,
      instance: options,
      credentials,
      guard: createRefusalGuard({ ...options, credentials, clock: systemClock }),
      userAgent: 'test',
      open: () => createSender({ connect }),
      clock: systemClock,
      log: noLog,
    });
    const instance = createAdapterInstance({ kind, instance: options, nodes: [node], clock: systemClock });
    t.after(() => instance.close());
    return instance;
  };
  const scopeOf = (t: TestContext): CallScope => {
    const scope = new CallScope({ total: 10_000, clock: systemClock });
    scope.permitChange();
    t.after(() => scope.end());
    return scope;
  };
  const rejectsWith = (code: string) => (error: unknown) => error instanceof GatewayError && error.code === code;
  const called = async (t: TestContext, instance: AdapterInstance, far: Upstream, call: AdapterCall = query) => {
    await instance.perform(call, scopeOf(t));
    return far.request;
  };

  test(`${kind.name}: the path is joined to the base address and otherwise sent as written`, async (t) => {
    const far = await upstream(t);
    for (const [url, path, expected] of [
      [far.url, 'a/b=10.0.0.0%2F24?x=%zz', '/a/b=10.0.0.0%2F24?x=%zz'],
      [`${far.url}/`, '/a//b/', '/a//b/'],
      [`${far.url}/base`, 'a', '/base/a'],
      [`${far.url}/base/`, '/a', '/base/a'],
    ] as const) {
      far.answer(() => jsonReply('{}'));
      const request = await called(t, instanceOf(t, url), far, { ...query, path });
      assert.equal(request.target, expected);
    }
  });

  test(`${kind.name}: the body is sent byte for byte with its length`, async (t) => {
    const far = await upstream(t);
    const request = await called(t, instanceOf(t, far.url), far, action);
    assert.equal(request.method, 'POST');
    assert.equal(request.body.toString(), '{"a":1.0}');
    assert.equal(request.header('content-length'), '9');
  });

  test(`${kind.name}: each type of authentication sends its credentials in its header`, async (t) => {
    const far = await upstream(t);
    for (const [auth, header, value] of [
      [{ type: 'none' }, 'authorization', undefined],
      [
        { type: 'basic', username: 'ü', password: new Secret('p:w') },
        'authorization',
        `Basic ${Buffer.from('ü:p:w').toString('base64')}`,
      ],
      [{ type: 'bearer', token: new Secret('t0k3n') }, 'authorization', 'Bearer t0k3n'],
      [{ type: 'header', name: 'X-API-Key', value: new Secret('k3y') }, 'x-api-key', 'k3y'],
      [{ type: 'token', token: new Secret('t0k3n') }, 'x-auth-token', 't0k3n'],
    ] as const) {
      far.answer(() => jsonReply('{}'));
      assert.equal((await called(t, instanceOf(t, far.url, auth), far)).header(header), value);
    }
  });

  test(`${kind.name}: an action is tried twice where nothing listens, and its failure names the connection`, async (t) => {
    const instance = instanceOf(t, `http://127.0.0.1:${await closedPort()}`);
    await assert.rejects(instance.perform(action, scopeOf(t)), rejectsWith('upstream-connect-failed'));
    assert.equal(instance.standing().state, 'offline');
  });

  test(`${kind.name}: an action whose connection breaks after it left is not sent again`, async (t) => {
    const far = await upstream(t);
    far.answer((_request, socket) => void socket.resetAndDestroy());
    await assert.rejects(instanceOf(t, far.url).perform(action, scopeOf(t)), rejectsWith('outcome-unknown'));
    assert.equal(far.requests.length, 1);
  });

  test(`${kind.name}: an action that is answered 503 is not sent again`, async (t) => {
    const far = await upstream(t, () => httpReply({ status: 503 }));
    const reply = await instanceOf(t, far.url).perform(action, scopeOf(t));
    assert.equal(reply.status, 503);
    assert.equal(far.requests.length, 1);
  });

  test(`${kind.name}: a query is repeated twice over broken connections and 503s`, async (t) => {
    const far = await upstream(t);
    far.answer((_request, socket) => {
      if (far.requests.length === 1) return void socket.resetAndDestroy();
      return far.requests.length === 2 ? httpReply({ status: 503, headers: { 'Retry-After': '0' } }) : jsonReply('{"a":1}');
    });
    const reply = await instanceOf(t, far.url).perform(query, scopeOf(t));
    assert.equal(reply.status, 200);
    assert.equal(far.requests.length, 3);
  });

  test(`${kind.name}: a 502 with a RESTCONF error body is the answer and is not repeated`, async (t) => {
    const error = '{"ietf-restconf:errors":{"error":[{"error-tag":"operation-failed","error-message":"out of sync"}]}}';
    const far = await upstream(t, () => jsonReply(error, { status: 502, type: 'application/yang-data+json' }));
    assert.equal((await instanceOf(t, far.url).perform(query, scopeOf(t))).status, 502);
    assert.equal(far.requests.length, 1);
  });

  test(`${kind.name}: a 502 with a RESTCONF error body of more than 64 KiB is the answer`, async (t) => {
    const message = 'x'.repeat(70_000);
    for (const [body, type] of [
      [
        `{"ietf-restconf:errors":{"error":[{"error-tag":"operation-failed","error-message":"${message}"}]}}`,
        'application/yang-data+json',
      ],
      [`{ "errors" : {"error":{"error-message":"${message}"}}}`, 'application/vnd.yang.data+json'],
      [
        `<?xml version="1.0"?>\n<errors xmlns="urn:ietf:params:xml:ns:yang:ietf-restconf"><error>${message}</error></errors>`,
        'text/xml',
      ],
    ] as const) {
      const far = await upstream(t, () => jsonReply(body, { status: 502, type }));
      const reply = await instanceOf(t, far.url).perform(query, scopeOf(t));
      reply.discard();
      assert.deepEqual([reply.status, far.requests.length], [502, 1]);
    }
  });

  test(`${kind.name}: a Retry-After longer than the remaining time makes the reply the answer`, async (t) => {
    const far = await upstream(t, () => httpReply({ status: 503, headers: { 'Retry-After': '3600' } }));
    assert.equal((await instanceOf(t, far.url).perform(query, scopeOf(t))).status, 503);
    assert.equal(far.requests.length, 1);
  });

  test(`${kind.name}: a call without a reply ends at the time limit for the first byte`, async (t) => {
    const far = await upstream(t, () => undefined);
    const instance = instanceOf(t, far.url, { type: 'none' }, 100);
    await assert.rejects(instance.perform(query, scopeOf(t)), rejectsWith('upstream-timeout'));
  });

  test(`${kind.name}: a body without a media type gets that of the kind`, () => {
    assert.match(kind.defaultContentType('restconf/data/x'), /^application\/(?:yang-data\+)?json$/u);
  });
}

test('nso: the legacy API has its own media types for operations and for data', () => {
  assert.equal(
    adapterKinds.nso.defaultContentType('api/running/devices/_operations/check-sync'),
    'application/vnd.yang.operation+json',
  );
  assert.equal(adapterKinds.nso.defaultContentType('/api/running/devices?deep'), 'application/vnd.yang.data+json');
  assert.equal(adapterKinds.nso.defaultContentType('/proxy/api/running/devices'), 'application/vnd.yang.data+json');
  assert.equal(adapterKinds.nso.defaultContentType('restconf/data/api:api/_operations'), 'application/yang-data+json');
  assert.equal(adapterKinds.nso.defaultContentType('/restconf/data/api/x'), 'application/yang-data+json');
});

test('every folder of an adapter kind has a line in the list', async () => {
  const folders = await readdir(new URL('./kinds/', import.meta.url));
  assert.deepEqual(folders.sort(), Object.keys(adapterKinds).sort());
});
