import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertProblem, post } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { basic, hashOf, startGateway, testPasswordHash } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { readStream } from './support/runs/read-stream.ts';
import { usersOf } from './support/runs/run-people-stage.ts';
import { audience, identityProvider } from './support/upstreams/identity-provider.ts';

// A reload of access.* holds for the next request of every caller: by Basic, by token, by session, by a token of an issuer.

const provider = await identityProvider({ after });
const patience = { timeout: 60_000 };
const user = (password: string, more: object = {}): Readonly<Record<string, unknown>> => ({
  username: 'ada',
  passwordHash: hashOf(password),
  roles: ['readonly'],
  groups: [],
  ...more,
});
const first = user('first');
const staying = { username: 'grace', passwordHash: hashOf('grace'), roles: ['readonly'], groups: [] };

/** Each test begins with a reload that gives this gateway the callers of the test. */
const gateway = await startGateway({ after });

function whoami(headers: Readonly<Record<string, string>>): Promise<Reply> {
  return gateway.send({ target: '/whoami', headers });
}

async function loggedIn(username: string, password: string) {
  const reply = await post(gateway, '/login', { username, password });
  assert.equal(reply.status, 200, reply.text);
  const { token } = reply.json() as { readonly token: string };
  const cookie = (reply.header('set-cookie') ?? '').split(';', 1)[0] ?? '';
  return { bearer: { Authorization: `Bearer ${token}` }, cookie: { Cookie: cookie } };
}

test('a changed password refuses Basic, token and session of the old one at once, although all were just verified', {
  timeout: 60_000,
}, async () => {
  await reloadWith(gateway, { users: [first, staying] });
  const { bearer, cookie } = await loggedIn('ada', 'first');
  const grace = await loggedIn('grace', 'grace');
  const ways = [{ Authorization: basic('ada', 'first') }, bearer, cookie];
  for (const headers of ways) assert.equal((await whoami(headers)).status, 200);
  await reloadWith(gateway, { users: [user('second'), staying] });
  for (const headers of ways) assertProblem(await whoami(headers), 401, 'unauthenticated');
  assert.equal((await whoami({ Authorization: basic('ada', 'second') })).status, 200);
  for (const headers of [grace.bearer, grace.cookie]) assert.equal((await whoami(headers)).status, 200);
});

test('a role that a reload takes away no longer holds for tokens in use', patience, async () => {
  await reloadWith(gateway, { users: [first, staying] });
  const { bearer } = await loggedIn('ada', 'first');
  const metrics = (): Promise<Reply> => gateway.send({ target: '/metrics', headers: bearer });
  assert.equal((await metrics()).status, 200);
  await reloadWith(gateway, { users: [{ ...first, roles: ['other'] }, staying] });
  assertProblem(await metrics(), 403, 'forbidden');
});

test('a user that a reload removes is refused, and one that the reload adds can log in', patience, async () => {
  await reloadWith(gateway, { users: [first] });
  const { bearer } = await loggedIn('ada', 'first');
  await reloadWith(gateway, { users: [staying] });
  assertProblem(await whoami(bearer), 401, 'unauthenticated');
  await loggedIn('grace', 'grace');
});

test('a client gets tokens from the reload that adds it on, and its tokens end with the reload that removes it', {
  timeout: 60_000,
}, async () => {
  await reloadWith(gateway, {});
  const ask = (): Promise<Reply> =>
    gateway.send({
      method: 'POST',
      target: '/oauth/token',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', Authorization: basic('robot', 'secret') },
      body: 'grant_type=client_credentials',
    });
  assert.equal((await ask()).status, 401);
  const access = { clients: [{ clientId: 'robot', secretHash: hashOf('secret'), roles: ['readonly'], groups: [] }] };
  // `config.access` replaces the test users, so the configuration names the administrator who reloads.
  const administrator = { username: 'admin-user', passwordHash: testPasswordHash, roles: ['admin'], groups: [] };
  await reloadWith(gateway, { config: { access: { users: [administrator], ...access } } });
  const { access_token: token } = (await ask()).json() as { readonly access_token: string };
  const headers = { Authorization: `Bearer ${token}` };
  assert.equal((await whoami(headers)).status, 200);
  await reloadWith(gateway, {});
  assertProblem(await whoami(headers), 401, 'unauthenticated');
});

test('tokens of an issuer are accepted as long as the file names the issuer', patience, async () => {
  await reloadWith(gateway, {});
  const headers = { Authorization: `Bearer ${await provider.token({ roles: ['readonly'] })}` };
  assertProblem(await whoami(headers), 401, 'unauthenticated');
  await reloadWith(gateway, { config: { access: { oidc: [{ issuer: provider.issuer, audience }] } } });
  assert.equal((await whoami(headers)).status, 200);
  await reloadWith(gateway, {});
  assertProblem(await whoami(headers), 401, 'unauthenticated');
});

test('tokens of a client last as long as its configuration says, and end with another secret', patience, async () => {
  const administrator = { username: 'admin-user', passwordHash: testPasswordHash, roles: ['admin'], groups: [] };
  const having = (secret: string, tokenLifetime?: string) => ({
    config: {
      access: {
        users: [administrator],
        tokenLifetime: '1h',
        clients: [
          {
            clientId: 'robot',
            secretHash: hashOf(secret),
            roles: ['readonly'],
            groups: [],
            ...(tokenLifetime && { tokenLifetime }),
          },
        ],
      },
    },
  });
  const ask = async (secret: string) => {
    const reply = await gateway.send({
      method: 'POST',
      target: '/oauth/token',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', Authorization: basic('robot', secret) },
      body: 'grant_type=client_credentials',
    });
    return reply.json() as { readonly access_token: string; readonly expires_in: number };
  };
  await reloadWith(gateway, having('secret', '90d'));
  const long = await ask('secret');
  assert.equal(long.expires_in, 90 * 86_400);
  await reloadWith(gateway, having('secret', '2s'));
  assert.equal((await ask('secret')).expires_in, 2);
  await reloadWith(gateway, having('secret'));
  const { access_token: token, expires_in: seconds } = await ask('secret');
  assert.equal(seconds, 3_600);
  assert.equal((await whoami({ Authorization: `Bearer ${token}` })).status, 200);
  await reloadWith(gateway, having('another'));
  for (const one of [token, long.access_token])
    assertProblem(await whoami({ Authorization: `Bearer ${one}` }), 401, 'unauthenticated');
});

test('an event stream ends where a reload changes the roles, groups or rights of its caller, and goes on where it does not', {
  timeout: 60_000,
}, async (t) => {
  const allows = [{ routes: ['followEvents'] }];
  const people = {
    ada: { roles: ['readonly'], groups: [] },
    grace: { roles: ['noc'], groups: [] },
    eve: { roles: ['readonly'], groups: ['a'] },
  };
  const configured = (changed: Partial<typeof people>, right: object = {}, more: object = {}) => ({
    users: usersOf({ ...people, ...changed }),
    config: { access: { roles: [{ name: 'noc', allows: [{ ...allows[0], ...right }] }], ...more } },
  });
  const open = async (name: string) =>
    await readStream(t, gateway, { as: basic(name, 'correct horse battery staple'), target: '/events' });
  await reloadWith(gateway, configured({}));
  const [ada, grace, eve] = [await open('ada'), await open('grace'), await open('eve')];
  await reloadWith(gateway, configured({ ada: { roles: ['other'], groups: [] } }));
  await ada.end();
  await reloadWith(gateway, configured({}, { via: ['http'] }));
  await grace.end();
  assert.equal(eve.ended, undefined);
  await reloadWith(gateway, configured({}, { via: ['http'] }, { groupRoles: { a: ['other'] } }));
  await eve.end();
  const again = await open('eve');
  await reloadWith(gateway, configured({}, { via: ['http'] }, { groupRoles: { a: ['other'] }, blocked: ['ada'] }));
  await lapse(1_500, 'a stream is asked about every second');
  assert.equal(again.ended, undefined, 'a reload that takes nothing from it');
});

test('an event stream of a session, or of a token of an issuer, ends with it', { timeout: 60_000 }, async (t) => {
  await reloadWith(gateway, { users: [first], config: { access: { oidc: [{ issuer: provider.issuer, audience }] } } });
  const { cookie } = await loggedIn('ada', 'first');
  const bySession = await readStream(t, gateway, { as: '', target: '/events', cookie: cookie.Cookie });
  const soon = Math.floor(Date.now() / 1_000) - 57;
  // The clocks of issuer and gateway may differ by a minute.
  const token = await provider.token({ roles: ['readonly'], exp: soon });
  const byToken = await readStream(t, gateway, { as: `Bearer ${token}`, target: '/events' });
  assert.deepEqual([bySession.response.statusCode, byToken.response.statusCode], [200, 200]);
  await byToken.end();
  assert.equal(bySession.ended, undefined);
  await gateway.send({ method: 'POST', target: '/logout', headers: cookie });
  await bySession.end();
});
