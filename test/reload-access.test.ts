import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertProblem, post } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { audience, identityProvider } from './support/far-sides/identity-provider.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { basic, hashOf, startGateway, testPasswordHash } from './support/gateway/start-gateway.ts';

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
