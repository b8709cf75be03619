import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { relay, responseOf, restCall } from './support/callers/calls.ts';
import { startGateway, type TestRole } from './support/gateway/start-gateway.ts';
import { type FarHandler, httpReply, jsonReply, type Upstream, upstream } from './support/upstreams/upstream.ts';

// NTLM and Negotiate authenticate a connection, not a request. No caller may get a connection that another one authenticated.

const far = await upstream({ after });
const gateway = await startGateway(
  { after },
  { config: { outbound: { allow: [far.authority] } }, adapters: [{ name: 'orchestrator', kind: 'rest', url: far.url }] },
);

interface Call {
  readonly role?: TestRole;
  readonly verb?: string;
  readonly authorization?: string;
}

async function call({ role = 'admin', verb = 'GET', authorization }: Call): Promise<void> {
  const headers = authorization === undefined ? {} : { headers: { authorization } };
  responseOf(await restCall(gateway, { uri: far.url, verb, responseHeaders: false, ...headers }, { role }));
}

/** The numbers of the connections that these calls of restCall used, the first as 1. */
async function connectionsOf(handler: FarHandler, ...calls: readonly Call[]): Promise<readonly number[]> {
  far.answer(handler);
  for (const each of calls) await call(each);
  return numbered(far);
}

function numbered({ requests }: Upstream): readonly number[] {
  const numbers = [...new Set(requests.map(({ connection }) => connection))];
  return requests.map(({ connection }) => numbers.indexOf(connection) + 1);
}

const ok: FarHandler = () => jsonReply('{}');

test('a connection of restCall is never lent to another caller', async () => {
  assert.deepEqual(await connectionsOf(ok, {}, { role: 'engineering' }, {}, { role: 'engineering' }), [1, 2, 1, 2]);
  assert.deepEqual(await connectionsOf(ok, { verb: 'POST' }, { verb: 'POST', role: 'engineering' }), [1, 2]);
});

test('callers of an orchestrator share its connections, since the upstream knows the gateway alone', async () => {
  far.answer(ok);
  for (const headers of [{}, { Authorization: gateway.basicFor('admin') }])
    await relay(gateway, 'restQuery', 'orchestrator', { params: { path: 'a', accept: '*/*' } }, { headers });
  assert.deepEqual(numbered(far), [1, 1]);
});

for (const authorization of ['NTLM TlRMTVNTUAAB', 'Negotiate YIIx', 'negotiate YIIx', ' \tntlm TlRM', 'NTLM']) {
  test(`a connection is not kept after the request's Authorization ${JSON.stringify(authorization)}`, async () => {
    assert.deepEqual(await connectionsOf(ok, { authorization }, {}, {}), [1, 2, 2]);
  });
}

test('a connection is kept after any other Authorization', async () => {
  const calls = ['Basic dTpw', 'Bearer NTLM', 'Digest username="negotiate"'].map((authorization) => ({ authorization }));
  assert.deepEqual(await connectionsOf(ok, ...calls), [1, 1, 1]);
});

const challenges: readonly (readonly [name: string, value: string | readonly string[]])[] = [
  ['WWW-Authenticate', 'NTLM'],
  ['WWW-Authenticate', 'negotiate oRQw'],
  ['WWW-Authenticate', 'Basic realm="a", Negotiate, NTLM'],
  ['WWW-Authenticate', ['Basic realm="a"', 'Negotiate']],
  ['Proxy-Authenticate', 'NTLM TlRMTVNTUAAC'],
];
for (const [name, value] of challenges) {
  test(`a connection is not kept after the reply's ${name} ${JSON.stringify(value)}`, async () => {
    for (const status of [200, 401]) {
      const answer: FarHandler = () => httpReply({ status, headers: { [name]: value } });
      assert.deepEqual(await connectionsOf(answer, {}, {}), [1, 2]);
    }
  });
}

test('a connection is kept after a challenge of another scheme', async () => {
  const answer: FarHandler = () => httpReply({ status: 401, headers: { 'WWW-Authenticate': 'Basic realm="intranet"' } });
  assert.deepEqual(await connectionsOf(answer, {}, {}), [1, 1]);
});
