// suite: waiting

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertProblem, instancesOf, type Problem, relay, resultOf } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { basic, startGatewayProcess } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { temporaryFile } from './support/temporary-file.ts';
import { until } from './support/until.ts';
import { createAuthority } from './support/upstreams/certificate.ts';
import { connectProxy } from './support/upstreams/connect-proxy.ts';
import { tlsUpstream } from './support/upstreams/tls-upstream.ts';
import { tokenEndpoint } from './support/upstreams/token-endpoint.ts';
import { closedPort, type FarRequest, httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// `auth` of an adapter instance: what the gateway sends as credentials, and what it does where they expire or are refused.

const clientSecret = 'b/c+d e%f:gé';
const far = await upstream({ after });
const endpoint = await tokenEndpoint({ after }, clientSecret);
const authority = createAuthority();
const caFile = temporaryFile({ after }, 'ca.pem', authority.cert);
const secure = await tlsUpstream({ after }, authority.issue({ names: ['127.0.0.1'] }));
const proxy = await connectProxy({ after });

const good = { access_token: 'x', token_type: 'Bearer', expires_in: 3600 };
const json = (value: unknown, status = 200): Buffer => jsonReply(JSON.stringify(value), { status });
const refusal = (status: number, error: string, description: string): Buffer =>
  json({ error, error_description: description }, status);

/** How a token endpoint can fail to issue a token, and the detail of the error. */
const faults: readonly (readonly [string, Buffer, RegExp])[] = [
  ['answers 500', httpReply({ status: 500, body: 'out of service' }), /answered 500\. /u],
  ['answers HTML', httpReply({ headers: { 'Content-Type': 'text/html' }, body: '<p>log in</p>' }), /200 without a JSON object/u],
  ['answers a list', json([good]), /200 without a JSON object/u],
  ['answers nothing', httpReply({}), /200 without a JSON object/u],
  ['answers over 64 KiB', json({ ...good, padding: 'x'.repeat(70_000) }), /could not be asked: .*65536 bytes/u],
  ['gives no token', json({ ...good, access_token: undefined }), /without an access_token/u],
  ['gives a number', json({ ...good, access_token: 5 }), /without an access_token/u],
  ['gives an empty token', json({ ...good, access_token: '' }), /without an access_token/u],
  ['gives a header for a token', json({ ...good, access_token: 'x\r\nX-Evil: 1' }), /without an access_token/u],
  ['gives a token beyond ASCII', json({ ...good, access_token: 'ü' }), /without an access_token/u],
  ['gives another type', json({ ...good, token_type: 'mac' }), /token_type that is not Bearer/u],
  ['gives no type', json({ ...good, token_type: undefined }), /token_type that is not Bearer/u],
  ['redirects', httpReply({ status: 307, headers: { Location: `${far.url}/token` } }), /redirects \(status 307\), .*tokenUrl/u],
  ['refuses the scope', refusal(400, 'invalid_scope', 'no such scope'), /answered 400 invalid_scope \("no such scope"\)\. /u],
  ['refuses the client', refusal(401, 'invalid_client', 'who?'), /401 invalid_client \("who\?"\): .*clientSecret.*HTTP Basic/u],
  ['says what cannot be shown', refusal(400, 'invalid_request', '"\r\n\u001b[1m\u202ex'), /\("\?{4}\[1m\?x"\)/u],
  ['says very much', refusal(400, 'invalid_request', 'x'.repeat(5_000)), /\("x{200}"\)/u],
  ['repeats the secret', refusal(400, 'invalid_request', `not <${clientSecret}>`), /\("not <\[secret\]>"\)/u],
  ['is no HTTP', Buffer.from('220 mail\r\n\r\n'), /could not be asked/u],
];
const lifetimes = [3600, '3600', 1e300, undefined, null, 0, -1, '', 'soon', {}];

/** The orchestrator of the adapters without OAuth. */
const plain = await upstream({ after });
const configured = { type: 'token', token: 'first' };
const withToken = ['follows', 'actions', 'back', 'action', 'refusing', 'garbage', 'long', 'shown', 'many'];
const fixed = {
  none: [{ type: 'none' }, undefined],
  basic: [{ type: 'basic', username: 'u', password: 'p' }, basic('u', 'p')],
  bearer: [{ type: 'bearer', token: 't' }, 'Bearer t'],
  header: [{ type: 'header', name: 'Authorization', value: 'Own v' }, 'Own v'],
} as const;

const shared = { kind: 'nso', url: far.url, concurrency: 64 };
const using = (client: string, more: object = {}): Readonly<Record<string, unknown>> => ({
  ...shared,
  name: client,
  auth: { ...endpoint.authOf(client), ...more },
});
const clients =
  'first crowd brief ahead revoked-query revoked-action revoked-request stubborn down forgetful slow silent leaving trial moved';
const gateway = await startGatewayProcess(
  { after },
  {
    adapters: [
      ...withToken.map((name) => ({ name, kind: 'nso', url: plain.url, auth: configured })),
      ...Object.entries(fixed).map(([name, [auth]]) => ({ name, kind: 'rest', url: plain.url, auth })),
      ...clients.split(' ').map((client) => using(client)),
      ...lifetimes.map((_, index) => using(`lifetime-${index}`)),
      ...faults.map((_, index) => using(`fault-${index}`)),
      using('scoped', { scope: 'read write', clientId: 'ä:b c' }),
      using('refused', { tokenUrl: `http://127.0.0.1:${await closedPort()}/token` }),
      { ...using('private', { tokenUrl: `${secure.url}/token` }), tls: { caFile, serverName: 'nso.example.net' } },
      using('public', { tokenUrl: `${secure.url}/token` }),
      { ...using('proxied', { tokenUrl: `${secure.url}/proxied` }), tls: { caFile }, proxy: { url: proxy.url } },
    ],
  },
);
// The limit for a token request is ten seconds: they pass while the other tests run.
endpoint.answer('silent', () => undefined);
const silent = query('silent');

const accept = 'application/yang-data+json';
function query(adapter: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
  return relay(gateway, 'restQuery', adapter, { params: { path: adapter, accept: 'application/yang-data+json' } }, { headers });
}
const action = (adapter: string): Promise<Reply> =>
  relay(gateway, 'restAction', adapter, { params: { path: adapter, accept }, body: {} });
const request = (adapter: string, method: string): Promise<Reply> =>
  relay(gateway, 'restRequest', adapter, { params: { path: adapter, accept, method } });

/** The `Authorization` headers of that adapter instance, call by call. */
const sentBy = (adapter: string): readonly (string | undefined)[] =>
  far.requests.filter(({ target }) => target === `/${adapter}`).map((one) => one.header('authorization'));
const bearer = (client: string, ...counts: readonly number[]): readonly string[] =>
  counts.map((count) => `Bearer ${client}.${count}`);
const unavailable = (reply: Reply): Problem => {
  assert.match(reply.header('retry-after') ?? '', /^[1-9]\d*$/u);
  return assertProblem(reply, 503, 'adapter-unavailable');
};
/** From now on the orchestrator answers 401 to these tokens. */
const refuse = (...tokens: readonly string[]): void =>
  far.answer((one: FarRequest) =>
    tokens.includes(one.header('authorization') ?? '') ? httpReply({ status: 401, body: 'expired' }) : jsonReply('{"a":1}'),
  );

/** Sends queries until `happened`. */
async function queryUntil(what: string, adapter: string, happened: () => boolean): Promise<void> {
  await until(what, async () => {
    if (happened()) return true;
    instancesOf(await query(adapter));
    return false;
  });
}

describe('an OAuth token', () => {
  test('is requested by the first call, with the client in Basic, and used by this call and the next', async () => {
    far.answer(() => jsonReply('{}'));
    instancesOf(await query('first'));
    resultOf(await action('first'));
    const [asked, ...more] = endpoint.requestsOf('first');
    assert.deepEqual(more, []);
    assert.equal(asked?.method, 'POST');
    assert.equal(asked?.header('content-type'), 'application/x-www-form-urlencoded');
    assert.equal(asked?.header('authorization'), basic('first', 'b%2Fc%2Bd+e%25f%3Ag%C3%A9'));
    assert.equal(asked?.body.toString(), 'grant_type=client_credentials');
    assert.deepEqual(sentBy('first'), bearer('first', 1, 1));
  });

  test('is requested with the scope, and with a client id of any characters', async () => {
    instancesOf(await query('scoped'));
    const [asked] = endpoint.requestsOf('scoped');
    assert.equal(asked?.body.toString(), 'grant_type=client_credentials&scope=read+write');
    assert.equal(asked?.header('authorization'), basic('%C3%A4%3Ab+c', 'b%2Fc%2Bd+e%25f%3Ag%C3%A9'));
  });

  test('is requested once where many calls wait for it', async () => {
    endpoint.answer('crowd', async (fresh) => {
      await lapse(300, 'the other calls arrive, and wait for the token');
      return fresh();
    });
    const replies = await Promise.all(Array.from({ length: 50 }, () => query('crowd')));
    for (const reply of replies) instancesOf(reply);
    assert.equal(endpoint.requestsOf('crowd').length, 1);
  });

  for (const [index, lifetime] of lifetimes.entries()) {
    test(`is cached where its expires_in is ${JSON.stringify(lifetime)}`, async () => {
      const client = `lifetime-${index}`;
      endpoint.answer(client, (fresh) => fresh({ expires_in: lifetime }));
      for (let count = 0; count < 3; count += 1) instancesOf(await query(client));
      assert.equal(endpoint.requestsOf(client).length, 1);
    });
  }

  test('is not sent after it expired', async () => {
    endpoint.answer('brief', (fresh) => fresh({ expires_in: 1 }));
    instancesOf(await query('brief'));
    await lapse(1_100, 'the token expires');
    instancesOf(await query('brief'));
    assert.deepEqual(sentBy('brief'), bearer('brief', 1, 2));
  });

  test('is renewed before it expires, while calls use the old one', async () => {
    let mayAnswer = (): void => {};
    const held = new Promise<void>((resolve) => {
      mayAnswer = resolve;
    });
    endpoint.answer('ahead', (fresh) => fresh({ expires_in: 4 }));
    instancesOf(await query('ahead'));
    endpoint.answer('ahead', async (fresh) => {
      await held;
      return fresh();
    });
    await queryUntil('the renewal has begun', 'ahead', () => endpoint.requestsOf('ahead').length >= 2);
    instancesOf(await query('ahead'));
    assert.deepEqual(new Set(sentBy('ahead')), new Set(bearer('ahead', 1)));
    mayAnswer();
    await queryUntil('the new token is used', 'ahead', () => sentBy('ahead').includes('Bearer ahead.2'));
    assert.equal(endpoint.requestsOf('ahead').length, 2);
  });
});

describe('a 401 of the orchestrator to an OAuth token', () => {
  test('renews the token, and a query is sent again with the new one', async () => {
    refuse();
    instancesOf(await query('revoked-query'));
    refuse('Bearer revoked-query.1');
    assert.deepEqual(instancesOf(await query('revoked-query')), [{ a: '1' }]);
    assert.deepEqual(sentBy('revoked-query'), bearer('revoked-query', 1, 2));
    assert.equal(endpoint.requestsOf('revoked-query').length, 2);
  });

  test('renews the token once for many queries', async () => {
    refuse();
    instancesOf(await query('moved'));
    refuse('Bearer moved.1');
    for (const reply of await Promise.all(Array.from({ length: 20 }, () => query('moved')))) instancesOf(reply);
    assert.equal(endpoint.requestsOf('moved').length, 2);
  });

  test('is an error to an action, and the next action has a new token', async () => {
    refuse('Bearer revoked-action.1');
    const problem = assertProblem(await action('revoked-action'), 502, 'upstream-error');
    assert.deepEqual(problem.upstream?.status, 401);
    assert.deepEqual(sentBy('revoked-action'), bearer('revoked-action', 1));
    resultOf(await action('revoked-action'));
    assert.deepEqual(sentBy('revoked-action'), bearer('revoked-action', 1, 2));
  });

  test('is the answer to a PUT; a GET is sent again with a new token', async () => {
    const statusOf = (reply: Reply): unknown => (reply.json() as { readonly statusCode: number }).statusCode;
    refuse('Bearer revoked-request.1');
    assert.equal(statusOf(await request('revoked-request', 'PUT')), 401);
    assert.equal(statusOf(await request('revoked-request', 'GET')), 200);
    assert.deepEqual(sentBy('revoked-request'), bearer('revoked-request', 1, 2));
  });

  test('to every token is an error after one more attempt, and no further token is requested', async () => {
    far.answer(() => httpReply({ status: 401 }));
    const problem = assertProblem(await query('stubborn'), 502, 'upstream-error');
    assert.equal(problem.upstream?.status, 401);
    assert.deepEqual(sentBy('stubborn'), bearer('stubborn', 1, 2));
    assertProblem(await query('stubborn'), 502, 'upstream-error');
    // Two 401 to the newest token, and one to a probe.
    for (let count = 0; count < 3; count += 1) assertProblem(await query('stubborn'), 503, 'credentials-refused');
    assert.deepEqual(sentBy('stubborn'), bearer('stubborn', 1, 2, 2));
    assert.equal(endpoint.requestsOf('stubborn').length, 2);
  });
});

describe('an OAuth token endpoint', () => {
  for (const [index, [what, reply, said]] of faults.entries()) {
    test(`that ${what} is named in a 503, and the orchestrator is not called`, async () => {
      far.answer(() => jsonReply('{}'));
      endpoint.answer(`fault-${index}`, () => reply);
      for (const call of [query, action]) {
        const { detail } = unavailable(await call(`fault-${index}`));
        assert.match(detail, said);
        assert.ok(detail.includes(`"fault-${index}"`) && detail.includes(endpoint.authority), detail);
        assert.ok(!detail.includes(clientSecret), detail);
      }
      assert.equal(far.connections, 0);
    });
  }

  test('that refuses connections is named in a 503', async () => {
    assert.match(unavailable(await action('refused')).detail, /could not be asked: .*127\.0\.0\.1/u);
  });

  test('that fails gets no further request for a while, then one', async () => {
    far.answer(() => jsonReply('{}'));
    endpoint.answer('forgetful', () => httpReply({ status: 500 }));
    await Promise.all(Array.from({ length: 10 }, () => query('forgetful').then(unavailable)));
    assert.equal(endpoint.requestsOf('forgetful').length, 1);
    endpoint.answer('forgetful', (fresh) => fresh());
    await until('a query succeeds', async () => (await query('forgetful')).status === 200);
    assert.equal(endpoint.requestsOf('forgetful').length, 2);
  });

  test('that fails while a token is valid affects no call', async () => {
    endpoint.answer('down', (fresh) => fresh({ expires_in: 10 }));
    instancesOf(await query('down'));
    endpoint.answer('down', () => httpReply({ status: 500 }));
    await queryUntil('two renewals have failed', 'down', () => endpoint.requestsOf('down').length >= 3);
    assert.deepEqual(new Set(sentBy('down')), new Set(bearer('down', 1)));
  });

  test('that is slow makes a call end at its own time limit, and other calls get the token', async () => {
    let mayAnswer = (): void => {};
    const held = new Promise<void>((resolve) => {
      mayAnswer = resolve;
    });
    endpoint.answer('slow', async (fresh) => {
      await held;
      return fresh();
    });
    const patient = query('slow');
    assert.match(unavailable(await query('slow', { Prefer: 'wait=1' })).detail, /in the time that the call has/u);
    mayAnswer();
    instancesOf(await patient);
    assert.equal(endpoint.requestsOf('slow').length, 1);
  });

  test('is trusted by the system’s authorities and the adapter’s own; serverName does not apply', async () => {
    assert.match(unavailable(await query('public')).detail, /could not be asked: TLS/u);
    assert.match(unavailable(await query('private')).detail, /without an access_token/u);
  });

  test('is called through the adapter’s proxy', async () => {
    assert.match(unavailable(await query('proxied')).detail, /without an access_token/u);
    assert.deepEqual(
      proxy.tunnels.map(({ authority }) => authority),
      [secure.authority],
    );
  });

  test('that fails makes POST /adapters/:adapterId/test report the step authentication', async () => {
    endpoint.answer('trial', () => refusal(401, 'invalid_client', 'who?'));
    const reply = await gateway.send({ method: 'POST', target: '/adapters/trial/test', role: 'admin' });
    const text = reply.text;
    assert.equal(reply.status, 200, text);
    assert.match(text, /"step":"authentication","ok":false/u);
    assert.match(text, /invalid_client/u);
    const listed = await gateway.send({ target: '/adapters', role: 'admin' });
    assert.match(listed.text, /invalid_client/u);
  });

  test('that never answers gets ten seconds', { timeout: 30_000 }, async () => {
    assert.match(unavailable(await silent).detail, /could not be asked: it took longer than 10000 ms/u);
  });
});

/** From now on replies have these tokens, in order, and the last one for all further replies. A refused token is answered with 401. */
function renew(tokens: readonly (string | readonly string[])[], refused: readonly string[] = []): void {
  let count = 0;
  plain.answer((request) => {
    if (refused.includes(request.header('x-auth-token') ?? '')) return httpReply({ status: 401 });
    const next = tokens[Math.min(count, tokens.length - 1)];
    count += 1;
    return jsonReply('{}', { headers: next === undefined ? {} : { 'X-Auth-Token': next } });
  });
}
const tokensSent = (): readonly (string | undefined)[] => plain.requests.map((request) => request.header('x-auth-token'));

describe('X-Auth-Token', () => {
  test('is the configured one until a reply has another, and then the new one', async () => {
    renew(['second', 'third']);
    for (let count = 0; count < 3; count += 1) instancesOf(await query('follows'));
    assert.deepEqual(tokensSent(), ['first', 'second', 'third']);
    renew([]);
    for (let count = 0; count < 2; count += 1) instancesOf(await query('follows'));
    assert.deepEqual(tokensSent(), ['third', 'third']);
    assert.equal(plain.requests[0]?.header('authorization'), undefined);
  });

  test('is renewed by the reply to an action too, also by an error', async () => {
    renew(['second']);
    resultOf(await action('actions'));
    plain.answer(() => httpReply({ status: 404, headers: { 'X-Auth-Token': 'third' } }));
    assertProblem(await action('actions'), 502, 'upstream-error');
    renew([]);
    resultOf(await action('actions'));
    assert.deepEqual(tokensSent(), ['third']);
  });

  test('of a reply is dropped for the configured one after a 401, and a query is sent again', async () => {
    renew(['second']);
    instancesOf(await query('back'));
    renew([], ['second']);
    instancesOf(await query('back'));
    instancesOf(await query('back'));
    assert.deepEqual(tokensSent(), ['second', 'first', 'first']);
  });

  test('of a reply is dropped for the configured one after a 401, and an action is not sent again', async () => {
    renew(['second']);
    resultOf(await action('action'));
    renew([], ['second']);
    const problem = assertProblem(await action('action'), 502, 'upstream-error');
    assert.equal(problem.upstream?.status, 401);
    assert.deepEqual(tokensSent(), ['second']);
    resultOf(await action('action'));
    assert.deepEqual(tokensSent(), ['second', 'first']);
  });

  test('of the configuration makes a 401 an error at once, and the token of the 401 is ignored', async () => {
    plain.answer(() => httpReply({ status: 401, headers: { 'X-Auth-Token': 'evil' } }));
    for (const call of [query, action]) {
      const problem = assertProblem(await call('refusing'), 502, 'upstream-error');
      assert.equal(problem.upstream?.status, 401);
    }
    assertProblem(await query('refusing'), 503, 'credentials-refused');
    // The third is a probe.
    assert.deepEqual(tokensSent(), ['first', 'first', 'first']);
  });

  for (const [what, value] of [
    ['is empty', ''],
    ['has a space', 'a b'],
    ['is not ASCII', 'ü'],
    ['is over 8 KiB', 'x'.repeat(8_193)],
    ['comes twice', ['second', 'third']],
  ] as const) {
    test(`of a reply is ignored where it ${what}`, async () => {
      renew([value]);
      instancesOf(await query('garbage'));
      instancesOf(await query('garbage'));
      assert.deepEqual(tokensSent(), ['first', 'first']);
    });
  }

  test('of a reply may have 8 KiB', async () => {
    renew(['y'.repeat(8_192)]);
    instancesOf(await query('long'));
    instancesOf(await query('long'));
    assert.deepEqual(tokensSent(), ['first', 'y'.repeat(8_192)]);
  });

  test('of a reply is hidden from callers, with any cookie of the reply', async () => {
    plain.answer(() => jsonReply('{}', { headers: { 'X-Auth-Token': 's3cret', 'Set-Cookie': 'token=s3cret', 'X-Other': 'o' } }));
    const reply = await relay(gateway, 'restRequest', 'shown', { params: { path: 'x', accept, method: 'GET' } });
    assert.equal(reply.status, 200);
    assert.match(reply.text, /"x-other":"o"/u);
    assert.ok(!`${reply.head}${reply.text}`.includes('s3cret'), reply.text);
  });

  test('may be renewed by many replies at once: each call has the token of some reply', async () => {
    let count = 0;
    plain.answer(() => {
      count += 1;
      return jsonReply('{}', { headers: { 'X-Auth-Token': `t${count}` } });
    });
    for (const reply of await Promise.all(Array.from({ length: 30 }, () => query('many')))) instancesOf(reply);
    assert.ok(tokensSent().every((one) => one === 'first' || /^t\d+$/u.test(one ?? '')));
    instancesOf(await query('many'));
    assert.match(tokensSent().at(-1) ?? '', /^t\d+$/u);
  });
});

for (const [type, [, value]] of Object.entries(fixed)) {
  test(`a 401 to auth of type ${type} is an error at once, since there are no other credentials`, async () => {
    plain.answer(() => httpReply({ status: 401, headers: { 'X-Auth-Token': 'evil' } }));
    for (const call of [query, action]) assertProblem(await call(type), 502, 'upstream-error');
    // The gateway probes after two 401 to credentials of its own.
    const calls = plain.requests.filter(({ target }) => target === `/${type}`);
    assert.deepEqual(
      calls.map((request) => request.header('authorization')),
      [value, value],
    );
    assert.ok(tokensSent().every((token) => token === undefined));
  });
}

// Last: it ends the gateway of the tests above.
test('a token request under way does not keep the gateway from stopping', { timeout: 20_000 }, async () => {
  endpoint.answer('leaving', () => undefined);
  unavailable(await query('leaving', { Prefer: 'wait=1' }));
  const before = performance.now();
  assert.equal(await gateway.stop(), 0);
  // The token request would have had nine more seconds.
  const took = performance.now() - before;
  assert.ok(took < 7_000, `${took} ms`);
});
