import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { relay, restCall } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { documentedHeaders } from './support/documentation/documented-headers.ts';
import type { SentMessage } from './support/documentation/header-conditions.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { connectProxy } from './support/upstreams/connect-proxy.ts';
import { httpReply, upstream } from './support/upstreams/upstream.ts';

const documented = documentedHeaders();
const section = 'Headers of the reply';
const owner = { after };
const far = await upstream(owner);
const proxy = await connectProxy(owner);
const gateway = await startGateway(owner, {
  config: { outbound: { allow: [far.authority] } },
  adapters: [
    { name: 'plain', kind: 'rest', url: far.url, proxy: { url: proxy.url } },
    { name: 'token', kind: 'nso', url: far.url, auth: { type: 'token', token: 'adapter-token' } },
  ],
});

const farHeaders = {
  'Content-Type': 'application/json; about="upstream"',
  ETag: '"upstream"',
  Location: '/upstream',
  'X-Auth-Token': 'far-token',
  'Set-Cookie': ['a=upstream', 'b=upstream'],
  Server: 'upstream',
  Date: 'upstream',
  'X-Request-Id': 'upstream',
  'X-Own': 'upstream',
};
const sent: SentMessage = { farHeaders: Object.keys(farHeaders) };

function assertReply(reply: Reply, facts: SentMessage): void {
  assert.equal(reply.status, 200, reply.text);
  // A status cannot carry the mark that the other values of the upstream have.
  const fields = reply.headers.map(([name, value]): [string, string] => [
    name,
    name === 'X-Upstream-Status' ? `${value} upstream` : value,
  ]);
  documented.assertDocumented(section, fields, facts);
}

const params = { path: 'x', accept: 'application/json' };
/** Every way to relay a call. */
const ways: Readonly<Record<string, () => Promise<Reply>>> = {
  restCall: () => restCall(gateway, { uri: `${far.url}/a`, verb: 'GET', responseHeaders: true }),
  restAction: () => relay(gateway, 'restAction', 'plain', { params, body: {} }),
  restQuery: () => relay(gateway, 'restQuery', 'plain', { params }),
  restRequest: () => relay(gateway, 'restRequest', 'plain', { params: { ...params, method: 'GET' } }),
};

describe('headers of a reply', () => {
  for (const [way, call] of Object.entries(ways)) {
    test(`the reply of ${way} has the documented headers`, async () => {
      far.answer(() => httpReply({ headers: farHeaders, body: '{}' }));
      assertReply(await call(), sent);
      far.answer(() => httpReply({ body: '{}' }));
      assertReply(await call(), {});
    });

    test(`a long or binary reply of ${way} has the documented headers`, async () => {
      far.answer(() => httpReply({ headers: farHeaders, body: `"${'x'.repeat(70_000)}"` }));
      assertReply(await call(), { ...sent, long: true });
      far.answer(() => httpReply({ body: Buffer.from([0xff]) }));
      assertReply(await call(), { notText: true });
    });
  }

  test('a reply after a redirect, or for a repeated Idempotency-Key, has the documented headers', async () => {
    far.answer(({ target }) =>
      target === '/a' ? httpReply({ status: 302, headers: { Location: '/b', 'X-Own': 'upstream' } }) : httpReply({ body: '{}' }),
    );
    assertReply(await restCall(gateway, { uri: `${far.url}/a`, verb: 'GET', responseHeaders: false }), { redirected: true });
    far.answer(() => httpReply({ headers: farHeaders, body: '{}' }));
    const headers = { 'Idempotency-Key': 'one' };
    const act = (): Promise<Reply> => relay(gateway, 'restAction', 'plain', { params, body: {} }, { headers });
    assertReply(await act(), sent);
    assertReply(await act(), { ...sent, replayed: true });
  });

  test('a reply on a connection that stays open has the documented headers', async () => {
    far.answer(() => httpReply({ body: '{}' }));
    const headers = { Connection: 'keep-alive' };
    assertReply(await relay(gateway, 'restQuery', 'plain', { params }, { headers }), { staysOpen: true });
  });

  test('each documented row held for some reply, and each row with a condition did not hold for another', () => {
    assert.deepEqual(documented.unseen({ only: section }), []);
  });
});

describe('headers in the body of a reply', () => {
  const listed = (reply: Reply): readonly string[] => {
    const body = reply.json() as { readonly response?: string; readonly headers?: object };
    const shown = body.response === undefined ? body : (JSON.parse(body.response) as { readonly headers: object });
    return Object.keys(shown.headers ?? {}).sort();
  };
  const names = [...Object.keys(farHeaders).map((name) => name.toLowerCase()), 'transfer-encoding'].sort();
  const answer = Buffer.concat([
    Buffer.from('HTTP/1.1 103 Early Hints\r\nX-Interim: a\r\n\r\n'),
    Buffer.from(
      httpReply({ headers: farHeaders, body: '{}', chunk: 1 }).toString('latin1').replace(/\r\n$/u, 'X-Trailer: a\r\n\r\n'),
    ),
  ]);

  test('the body lists all headers of the last reply, and none of interim replies, trailers and redirects', async () => {
    far.answer(({ target }) =>
      target === '/a' ? httpReply({ status: 302, headers: { Location: '/b', 'X-First': 'a' } }) : answer,
    );
    assert.deepEqual(listed(await restCall(gateway, { uri: `${far.url}/a`, verb: 'GET', responseHeaders: true })), names);
    far.answer(() => answer);
    assert.deepEqual(listed(await relay(gateway, 'restRequest', 'plain', { params: { ...params, method: 'GET' } })), names);
  });

  test('the body lists no header that renews the credentials of an adapter', async () => {
    far.answer(() => answer);
    const reply = await relay(gateway, 'restRequest', 'token', { params: { ...params, method: 'GET' } });
    const [withheld = ''] = documented.table('| headers | why a caller never gets them |')[0] ?? [];
    assert.match(withheld, /^`X-Auth-Token` and `Set-Cookie` of an adapter with `auth\.type` token$/u);
    assert.deepEqual(
      listed(reply),
      names.filter((name) => name !== 'x-auth-token' && name !== 'set-cookie'),
    );
  });
});
