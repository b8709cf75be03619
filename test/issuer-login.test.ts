import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { after, describe, test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { LoginBrowser } from './support/callers/login-browser.ts';
import { startGateway, testPasswordHash } from './support/gateway/start-gateway.ts';
import { eachStore, storeUrl } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { audience } from './support/upstreams/identity-provider.ts';
import { consoleClientId, loginProvider } from './support/upstreams/login-provider.ts';
import { closedPort } from './support/upstreams/upstream.ts';

// Logins of people by an OIDC issuer (docs/decisions/0038-login-by-issuer.md), from outside: a gateway, a provider, and browsers.

const provider = await loginProvider({ after });
const second = await loginProvider({ after }, { namesItself: true });
const withoutPkce = await loginProvider({ after }, { discovery: { code_challenge_methods_supported: ['plain'] } });
const silent = await loginProvider({ after });
silent.tokenReply = () => {};
const away = `http://127.0.0.1:${await closedPort()}`;
const gateway = await startGateway(
  { after },
  {
    users: [{ username: 'admin', passwordHash: testPasswordHash, roles: ['admin'], groups: [] }],
    config: {
      access: {
        tokenLifetime: '10m',
        oidc: [
          { issuer: provider.issuer, audience, consoleClientId },
          { issuer: second.issuer, audience, consoleClientId },
          { issuer: withoutPkce.issuer, audience, consoleClientId },
          { issuer: silent.issuer, audience, consoleClientId },
          { issuer: away, audience, consoleClientId },
        ],
      },
    },
  },
);
const isBuilt = (await gateway.send({ target: '/console' })).status === 200;
const skip = isBuilt || process.env['CI'] === 'true' ? false : 'the console is not built: npm run build:console';
const named = `?issuer=${encodeURIComponent(provider.issuer)}`;
const session = 'orchestration_gateway_session';
const binding = 'orchestration_gateway_login';

/** Where the browser ends up that comes back from the provider; `changed` changes the address on its way. */
async function comeBack(browser: LoginBrowser, back: URL, changed: (to: URL) => void = () => {}): Promise<Reply> {
  changed(back);
  return await browser.open(back.pathname + back.search);
}

/** A whole login: the last reply of the gateway. */
async function logIn(browser: LoginBrowser, query = named, changed?: (to: URL) => void): Promise<Reply> {
  return await comeBack(browser, await provider.logIn(await browser.begin(query)), changed);
}

/** It takes as long as the gateway waits for a first byte, so it begins early. */
const silentLogin = (async (): Promise<Reply> => {
  const browser = new LoginBrowser(gateway);
  return await comeBack(browser, await silent.logIn(await browser.begin(`?issuer=${encodeURIComponent(silent.issuer)}`)));
})();

function assertFailed(reply: Reply, failure: string, to?: string): void {
  const location = new URL(reply.header('location') ?? '', 'http://gateway.invalid');
  assert.deepEqual(
    [reply.status, location.origin, location.pathname],
    [302, 'http://gateway.invalid', '/console/login'],
    reply.text,
  );
  assert.deepEqual([location.searchParams.get('failure'), location.searchParams.get('to') ?? undefined], [failure, to]);
}

type Line = Readonly<Record<string, unknown>>;

async function failureLogged(reply: Reply): Promise<Line> {
  const requestId = reply.header('x-request-id');
  const found = (): Line | undefined =>
    gateway.stderr
      .map((text) => JSON.parse(text) as Line)
      .find((line) => line['requestId'] === requestId && line['msg'] === 'login failed');
  await until(`the log tells of ${requestId}`, () => found() !== undefined);
  return found() ?? {};
}

/** Sets what the provider does for one test. */
function providing(set: Partial<Pick<typeof provider, 'person' | 'signing' | 'tokenReply'>>): void {
  Object.assign(provider, { person: {}, signing: {}, tokenReply: undefined, ...set });
}

describe('a login by an issuer', { skip }, () => {
  test('is offered for every issuer with a consoleClientId', async () => {
    const reply = await gateway.send({ target: '/login/issuers' });
    assert.deepEqual(reply.json(), { list: [provider, second, withoutPkce, silent].map(({ issuer }) => issuer).concat(away) });
    assert.equal(reply.header('cache-control'), 'no-store');
  });

  test('sends the browser to the issuer with PKCE, state and nonce, bound by a cookie for the login alone', async () => {
    const reply = await gateway.send({ target: `/login/oidc${named}` });
    assert.equal(reply.status, 302);
    const location = new URL(reply.header('location') ?? '');
    assert.equal(`${location.origin}${location.pathname}`, `${provider.issuer}/authorize`);
    const { state, nonce, code_challenge, ...others } = Object.fromEntries(location.searchParams);
    assert.deepEqual(others, {
      response_type: 'code',
      scope: 'openid profile',
      client_id: consoleClientId,
      redirect_uri: `http://127.0.0.1:${gateway.port}/login/oidc/callback`,
      code_challenge_method: 'S256',
    });
    for (const text of [state, nonce, code_challenge]) assert.match(text ?? '', /^[\w-]{43,}$/u);
    assert.match(
      reply.header('set-cookie') ?? '',
      /^orchestration_gateway_login=[\w-]{43}; Path=\/login\/oidc; Max-Age=600; HttpOnly; SameSite=Lax$/u,
    );
    assert.deepEqual(
      ['cache-control', 'referrer-policy', 'x-content-type-options'].map((name) => reply.header(name)),
      ['no-store', 'no-referrer', 'nosniff'],
    );
  });

  test('ends in the console with a session, with the roles and groups of the ID token', async () => {
    providing({ person: { sub: 's1', preferred_username: 'ann', roles: ['engineering', 'pilot'], groups: ['noc'] } });
    const browser = new LoginBrowser(gateway);
    const reply = await logIn(browser, `${named}&to=${encodeURIComponent('/runs?status=faulted')}`);
    assert.deepEqual([reply.status, reply.header('location')], [302, '/console/runs?status=faulted']);
    assert.match(
      reply.header('set-cookie') ?? '',
      /^orchestration_gateway_session=[^;]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Strict$/u,
    );
    assert.deepEqual([reply.header('cache-control'), reply.header('referrer-policy')], ['no-store', 'no-referrer']);
    const ann = { username: 'ann', roles: ['engineering'], groups: ['noc'], issuer: provider.issuer, subject: 's1' };
    assert.deepEqual(await browser.who(), ann);
    assert.equal((await browser.open('/automation_catalog/automations')).status, 403, 'engineering may not list');
    const { exp = 0, iat = 0 } = JSON.parse(
      Buffer.from(browser.cookies.get(session)?.split('.')[1] ?? '', 'base64url').toString(),
    ) as { readonly exp?: number; readonly iat?: number };
    assert.equal(exp - iat, 600, 'tokenLifetime, and not exp of the ID token');
    const [exchange] = provider.exchanges.slice(-1);
    assert.deepEqual([exchange?.get('grant_type'), exchange?.get('client_id')], ['authorization_code', consoleClientId]);
    await gateway.send({ method: 'POST', target: '/logout', headers: { Cookie: `${session}=${browser.cookies.get(session)}` } });
    assert.equal(await browser.who(), 401, 'the session has ended');
  });

  test('is on record with its person; a failed one is on record as refused, without code, state and token', async () => {
    providing({ person: { sub: 's2', preferred_username: 'bea', roles: ['admin'] } });
    const browser = new LoginBrowser(gateway);
    const well = await logIn(browser);
    const code = new URL(await browser.begin(named)).searchParams.get('state') ?? '';
    const badly = await browser.open(`/login/oidc/callback?code=very-secret-code&state=${code}&session_state=x`);
    assertFailed(badly, 'not-valid');
    const recordOf = async (reply: Reply): Promise<Line | undefined> => {
      const { list } = (await browser.open('/audit')).json() as { readonly list: readonly Line[] };
      return list.find((record) => record['requestId'] === reply.header('x-request-id'));
    };
    await until('both are on record', async () => (await recordOf(well)) !== undefined && (await recordOf(badly)) !== undefined);
    const { principal, issuer, subject, route, outcome } = (await recordOf(well)) ?? {};
    assert.deepEqual(
      { principal, issuer, subject, route, outcome },
      { principal: 'bea', issuer: provider.issuer, subject: 's2', route: 'GET /login/oidc/callback', outcome: 'ok' },
    );
    const failed = (await recordOf(badly)) ?? {};
    assert.deepEqual([failed['outcome'], failed['code'], failed['decision']], ['refused', 'unauthenticated', 'denied']);
    const line = await failureLogged(badly);
    assert.deepEqual([line['reason'], line['issuer']], ['the token endpoint answered 400 invalid_grant', provider.issuer]);
    const written = [...gateway.stderr, JSON.stringify(failed)].join('\n');
    for (const form of provider.exchanges) {
      for (const secret of [form.get('code_verifier'), form.get('code')])
        assert.ok(!written.includes(secret ?? ''), secret ?? '');
    }
    assert.ok(!written.includes(code) && !written.includes(browser.cookies.get(session) ?? ''));
  });

  test('gives a name of the configuration to no person of the issuer', async () => {
    providing({ person: { sub: 's3', preferred_username: 'admin' } });
    const browser = new LoginBrowser(gateway);
    await logIn(browser);
    const { username, roles } = (await browser.who()) as { readonly username: string; readonly roles: readonly string[] };
    assert.deepEqual([username, roles], [`admin@${provider.issuer}`, []]);
  });

  test('works in two tabs at once, in any order', async () => {
    providing({ person: { sub: 's4', preferred_username: 'cem' } });
    const browser = new LoginBrowser(gateway);
    const [one, other] = [await browser.begin(`${named}&to=/runs`), await browser.begin(`${named}&to=/audit`)];
    const [backOne, backOther] = [await provider.logIn(one), await provider.logIn(other)];
    assert.equal((await comeBack(browser, backOther)).header('location'), '/console/audit');
    assert.equal((await comeBack(browser, backOne)).header('location'), '/console/runs');
  });

  test('needs the name of the issuer where there are several', async () => {
    const browser = new LoginBrowser(gateway);
    assertFailed(await browser.open('/login/oidc?to=/runs'), 'unknown-issuer', '/runs');
    assertFailed(await browser.open('/login/oidc?issuer=https://evil.example'), 'unknown-issuer');
    assertProblem(await browser.open(`/login/oidc${named}&redirect_uri=https://evil.example`), 400, 'invalid-request');
  });

  test('needs a Host that is the gateway’s own', async () => {
    const browser = new LoginBrowser(gateway);
    assertFailed(await browser.open(`/login/oidc${named}`, { Host: 'evil.example' }), 'wrong-address');
  });
});

describe('a login by an issuer leads nowhere but to the console', { skip }, () => {
  const hostile = [
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    'https://evil.example/',
    'javascript:alert(1)',
    '/a\r\nSet-Cookie: x=1',
    '/../../evil',
    '/%2e%2e/%2e%2e/evil',
    '@evil.example',
    '.evil.example',
  ];
  for (const to of hostile) {
    test(`where another page is asked for: ${JSON.stringify(to)}`, async () => {
      providing({ person: { sub: 's5', preferred_username: 'dan' } });
      const reply = await logIn(new LoginBrowser(gateway), `${named}&to=${encodeURIComponent(to)}`);
      const location = reply.header('location') ?? '';
      assert.equal(reply.status, 302);
      assert.match(location, /^\/console(?:$|\/)/u);
      assert.equal(new URL(location, 'https://gateway.example.net').origin, 'https://gateway.example.net');
      assert.equal(reply.header('x'), undefined);
    });
  }
});

/** The same text with another first character. */
function withOtherStart(text: string): string {
  return `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`;
}

describe('a callback', { skip }, () => {
  test('without the cookie, or of another browser, begins no session', async () => {
    const victim = new LoginBrowser(gateway);
    const attacker = new LoginBrowser(gateway);
    const back = await provider.logIn(await attacker.begin(named));
    assertFailed(await comeBack(victim, back), 'not-begun');
    await victim.begin(named);
    assertFailed(await comeBack(victim, back), 'not-begun');
    assert.equal(await victim.who(), 401);
    assert.equal((await comeBack(attacker, back)).header('location'), '/console');
  });

  test('with two cookies of the name begins no session: one may be planted', async () => {
    const browser = new LoginBrowser(gateway);
    const back = await provider.logIn(await browser.begin(named));
    const planted = `${binding}=${browser.cookies.get(binding)}; ${binding}=${'x'.repeat(43)}`;
    assertFailed(await browser.open(back.pathname + back.search, { Cookie: planted }), 'not-begun');
  });

  const states: Readonly<Record<string, (to: URL) => void>> = {
    'another state': (to) => to.searchParams.set('state', 'A'.repeat(200)),
    'no state': (to) => to.searchParams.delete('state'),
    'an empty state': (to) => to.searchParams.set('state', ''),
    'a state that is no base64url': (to) => to.searchParams.set('state', '<script>'),
    'a changed state': (to) => to.searchParams.set('state', withOtherStart(to.searchParams.get('state') ?? '')),
    'a shortened state': (to) => to.searchParams.set('state', to.searchParams.get('state')?.slice(0, 30) ?? ''),
    'a state over its limit': (to) => to.searchParams.set('state', 'A'.repeat(10_000)),
    'two states': (to) => to.searchParams.append('state', 'A'),
  };
  for (const [fault, change] of Object.entries(states)) {
    test(`with ${fault} begins no session, and asks the issuer nothing`, async () => {
      const browser = new LoginBrowser(gateway);
      const before = provider.exchanges.length;
      assertFailed(await logIn(browser, named, change), 'not-begun');
      assert.deepEqual([await browser.who(), provider.exchanges.length], [401, before]);
    });
  }

  test('that comes again begins no second session, and asks the issuer nothing', async () => {
    providing({ person: { sub: 's6', preferred_username: 'eli' } });
    const browser = new LoginBrowser(gateway);
    const back = await provider.logIn(await browser.begin(`${named}&to=/runs`));
    assert.equal((await comeBack(browser, back)).header('location'), '/console/runs');
    const before = provider.exchanges.length;
    const again = await comeBack(browser, back);
    assertFailed(again, 'used', '/runs');
    assert.deepEqual([again.header('set-cookie'), provider.exchanges.length], [undefined, before]);
  });

  const replies: Readonly<Record<string, (to: URL) => void>> = {
    'an error': (to) => refusing(to, 'access_denied'),
    'an error that is markup': (to) => refusing(to, '<img src=x onerror=alert(1)>'),
    'no code': (to) => to.searchParams.delete('code'),
    'two codes': (to) => to.searchParams.append('code', 'x'),
    'a code that is no ASCII': (to) => to.searchParams.set('code', 'ü'),
    'a code over its limit': (to) => to.searchParams.set('code', 'x'.repeat(5_000)),
    'the name of another issuer': (to) => to.searchParams.set('iss', second.issuer),
  };
  for (const [fault, change] of Object.entries(replies)) {
    test(`with ${fault} begins no session, and no text of it goes on`, async () => {
      const browser = new LoginBrowser(gateway);
      const reply = await logIn(browser, `${named}&to=/runs`, change);
      assertFailed(reply, 'refused', '/runs');
      assert.doesNotMatch(`${reply.head}${reply.text}${JSON.stringify(await failureLogged(reply))}`, /<|%3C/u);
      assert.equal(await browser.who(), 401);
    });
  }

  test('of an issuer that names itself needs that name', async () => {
    Object.assign(second, { person: { sub: 'fay' } });
    const browser = new LoginBrowser(gateway);
    const asked = `?issuer=${encodeURIComponent(second.issuer)}`;
    const back = await second.logIn(await browser.begin(asked));
    const without = new URL(back);
    without.searchParams.delete('iss');
    assertFailed(await comeBack(browser, without), 'refused');
    assert.equal((await comeBack(browser, back)).header('location'), '/console');
  });
});

function refusing(to: URL, error: string): void {
  to.searchParams.delete('code');
  to.searchParams.set('error', error);
  to.searchParams.set('error_description', '<script>alert(1)</script>');
  to.searchParams.set('error_uri', 'https://evil.example');
}

describe('an ID token', { skip }, () => {
  const now = Math.floor(Date.now() / 1000);
  const tokens: Readonly<Record<string, readonly [Parameters<typeof providing>[0], string]>> = {
    'of another login': [{ person: { nonce: 'x'.repeat(43) } }, 'wrong nonce'],
    'without a nonce': [{ person: { nonce: undefined } }, 'missing claim'],
    'for another client': [{ person: { aud: audience } }, 'wrong audience'],
    'for several clients without an authorized party': [{ person: { aud: [consoleClientId, 'x'] } }, 'wrong authorized party'],
    'issued to another party': [{ person: { azp: 'x' } }, 'wrong authorized party'],
    'that has expired': [{ person: { iat: now - 7_200, exp: now - 3_600 } }, 'expired'],
    'without an issuing time': [{ person: { iat: undefined } }, 'missing claim'],
    'of another issuer': [{ person: { iss: 'https://evil.example' } }, 'malformed'],
    'with a forged signature': [{ signing: { forged: true } }, 'wrong signature'],
    'by an algorithm that is not allowed': [{ signing: { algorithm: 'RS512' } }, 'algorithm not allowed'],
    'that is an access token': [{ signing: { header: { typ: 'at+jwt' } } }, 'wrong type'],
    'that is too long': [{ person: { more: 'x'.repeat(9_000) } }, 'too long'],
  };
  for (const [fault, [set, reason]] of Object.entries(tokens)) {
    test(`${fault} begins no session`, async () => {
      providing({ ...set, person: { sub: 's7', ...set.person } });
      const browser = new LoginBrowser(gateway);
      const reply = await logIn(browser);
      assertFailed(reply, 'not-valid');
      assert.equal((await failureLogged(reply))['reason'], `the ID token is not valid (${reason})`);
      assert.equal(await browser.who(), 401);
    });
  }

  test('R87: without a signature begins no session', async () => {
    providing({
      tokenReply: (response, idToken) => {
        const header = Buffer.from('{"alg":"none"}').toString('base64url');
        answerWith(response, 200, JSON.stringify({ id_token: `${header}.${idToken.split('.')[1]}.` }));
      },
    });
    assertFailed(await logIn(new LoginBrowser(gateway)), 'not-valid');
  });

  test('with an invisible name begins no session', async () => {
    providing({ person: { sub: 's8', preferred_username: 'ad\u200bmin' } });
    assertFailed(await logIn(new LoginBrowser(gateway)), 'not-valid');
  });

  test('with more groups than a cookie holds begins no session, and says so', async () => {
    providing({ person: { sub: 's9', groups: Array.from({ length: 150 }, (_, at) => `a-group-with-a-long-name-${at}`) } });
    const reply = await logIn(new LoginBrowser(gateway));
    assertFailed(reply, 'too-large');
    assert.equal(reply.header('set-cookie'), undefined);
  });
});

function answerWith(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(body);
}

describe('a token endpoint', { skip }, () => {
  const replies: Readonly<Record<string, readonly [(response: ServerResponse) => void, string]>> = {
    'that breaks the connection': [(response) => response.destroy(), 'issuer-unavailable'],
    'that fails': [(response) => answerWith(response, 500, '{}'), 'issuer-unavailable'],
    'that answers without end': [(response) => endless(response), 'issuer-unavailable'],
    'that redirects': [(response) => answerWith(response, 307, '', { Location: `${second.issuer}/token` }), 'not-valid'],
    'that answers no JSON': [(response) => answerWith(response, 200, '<html>'), 'not-valid'],
    'that answers nothing': [(response) => response.writeHead(204).end(), 'not-valid'],
    'that answers null': [(response) => answerWith(response, 200, 'null'), 'not-valid'],
    'without an ID token': [(response) => answerWith(response, 200, '{"access_token":"x"}'), 'not-valid'],
    'whose ID token is a number': [(response) => answerWith(response, 200, '{"id_token":1}'), 'not-valid'],
  };
  for (const [fault, [tokenReply, failure]] of Object.entries(replies)) {
    test(`${fault} begins no session`, async () => {
      providing({ tokenReply });
      const [before, beyond] = [provider.exchanges.length, second.exchanges.length];
      const browser = new LoginBrowser(gateway);
      assertFailed(await logIn(browser), failure);
      assert.deepEqual([provider.exchanges.length, second.exchanges.length], [before + 1, beyond], 'the code left once');
      assert.equal(await browser.who(), 401);
    });
  }

  test('that is silent begins no session', async () => {
    assertFailed(await silentLogin, 'issuer-unavailable');
  });

  test('that is away, or of an issuer without PKCE, fails the login before the browser leaves', async () => {
    const browser = new LoginBrowser(gateway);
    for (const issuer of [away, withoutPkce.issuer]) {
      const reply = await browser.open(`/login/oidc?issuer=${encodeURIComponent(issuer)}&to=/runs`);
      assertFailed(reply, 'issuer-unavailable', '/runs');
    }
  });
});

function endless(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  const write = (): void => {
    while (!response.destroyed && response.write(' '.repeat(65_536)));
    if (!response.destroyed) response.once('drain', write);
  };
  write();
}

eachStore((store) => {
  if (store.dialect === 'sqlite') return;
  test('a login that begins at one gateway ends at another one, once, behind a proxy with TLS; failed ones have to wait at both', {
    skip,
  }, async (t) => {
    const url = storeUrl(await store.empty(t));
    const own = await loginProvider(t);
    own.person = { sub: 's10', preferred_username: 'gil', roles: ['readonly'] };
    const config = {
      server: { publicUrl: 'https://gateway.example.net/base' },
      store: { url },
      access: { oidc: [{ issuer: own.issuer, audience, consoleClientId }] },
    };
    const [one, other] = await Promise.all([startGateway(t, { config }), startGateway(t, { config })]);
    const browser = new LoginBrowser(one);
    const reply = await browser.open('/login/oidc?to=/runs');
    assert.match(
      reply.header('set-cookie') ?? '',
      /^__Host-orchestration_gateway_login=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/u,
    );
    const back = await own.logIn(reply.header('location') ?? '');
    assert.equal(`${back.origin}${back.pathname}`, 'https://gateway.example.net/base/login/oidc/callback');
    const callback = `/login/oidc/callback${back.search}`;
    browser.useGateway(other);
    assert.equal((await browser.open(callback)).header('location'), 'https://gateway.example.net/base/console/runs');
    browser.useGateway(one);
    const who = { username: 'gil', roles: ['readonly'], groups: [], issuer: own.issuer, subject: 's10' };
    assert.deepEqual(await browser.who(), who);
    const again = await browser.open(callback);
    assert.match(
      again.header('location') ?? '',
      /^https:\/\/gateway\.example\.net\/base\/console\/login\?failure=used&to=%2Fruns$/u,
    );
    assert.equal(own.exchanges.length, 1);
    own.person = { nonce: 'x' };
    const fail = async (): Promise<string | null> => {
      const failing = new URL(await browser.begin());
      const { search } = await own.logIn(failing.href);
      const failed = await browser.open(`/login/oidc/callback${search}`);
      return new URL(failed.header('location') ?? '').searchParams.get('failure');
    };
    // The callback that came again counts too.
    for (let at = 0; at < 49; at += 1) assert.equal(await fail(), 'not-valid');
    browser.useGateway(other);
    assert.deepEqual([await fail(), own.exchanges.length], ['throttled', 50]);
    browser.useGateway(one);
    writeFileSync(one.configFile, readFileSync(one.configFile, 'utf8').replace(consoleClientId, 'another-client'));
    one.kill('SIGHUP');
    await until('the session ends with its client', async () => (await browser.who()) === 401);
  });
});
