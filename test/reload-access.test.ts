import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { assertProblem, post } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { audience, identityProvider } from './support/far-sides/identity-provider.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { basic, type Gateway, hashOf, startGateway, testPasswordHash } from './support/gateway/start-gateway.ts';

// Contract 6 and 7: who may call follows a reload at once, for Basic, tokens, sessions and issuers alike.

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

const started = (t: TestContext): Promise<Gateway> => startGateway(t, { users: [first, staying] });

function whoami(gateway: Gateway, headers: Readonly<Record<string, string>>): Promise<Reply> {
  return gateway.send({ target: '/whoami', headers });
}

async function loggedIn(gateway: Gateway, username: string, password: string) {
  const reply = await post(gateway, '/login', { username, password });
  assert.equal(reply.status, 200, reply.text);
  const { token } = reply.json() as { readonly token: string };
  const cookie = (reply.header('set-cookie') ?? '').split(';', 1)[0] ?? '';
  return { bearer: { Authorization: `Bearer ${token}` }, cookie: { Cookie: cookie } };
}

test('a changed password locks out the old one at once: Basic, token and session, however lately they were verified', {
  timeout: 60_000,
}, async (t) => {
  const gateway = await started(t);
  const { bearer, cookie } = await loggedIn(gateway, 'ada', 'first');
  const grace = await loggedIn(gateway, 'grace', 'grace');
  const ways = [{ Authorization: basic('ada', 'first') }, bearer, cookie];
  for (const headers of ways) assert.equal((await whoami(gateway, headers)).status, 200);
  await reloadWith(gateway, { users: [user('second'), staying] });
  for (const headers of ways) assertProblem(await whoami(gateway, headers), 401, 'unauthenticated');
  assert.equal((await whoami(gateway, { Authorization: basic('ada', 'second') })).status, 200);
  for (const headers of [grace.bearer, grace.cookie]) assert.equal((await whoami(gateway, headers)).status, 200);
});

test('a role that was taken away is gone for tokens that are at work', patience, async (t) => {
  const gateway = await started(t);
  const { bearer } = await loggedIn(gateway, 'ada', 'first');
  const metrics = (): Promise<Reply> => gateway.send({ target: '/metrics', headers: bearer });
  assert.equal((await metrics()).status, 200);
  await reloadWith(gateway, { users: [{ ...first, roles: ['other'] }, staying] });
  assertProblem(await metrics(), 403, 'forbidden');
});

test('a user that was removed is nobody, and one that was added can log in', patience, async (t) => {
  const gateway = await startGateway(t, { users: [first] });
  const { bearer } = await loggedIn(gateway, 'ada', 'first');
  await reloadWith(gateway, { users: [staying] });
  assertProblem(await whoami(gateway, bearer), 401, 'unauthenticated');
  await loggedIn(gateway, 'grace', 'grace');
});

test('a client and its tokens follow', patience, async (t) => {
  const gateway = await startGateway(t);
  const ask = (): Promise<Reply> =>
    gateway.send({
      method: 'POST',
      target: '/oauth/token',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', Authorization: basic('robot', 'secret') },
      body: 'grant_type=client_credentials',
    });
  assert.equal((await ask()).status, 401);
  const access = { clients: [{ clientId: 'robot', secretHash: hashOf('secret'), roles: ['readonly'], groups: [] }] };
  // The access section of the test configuration is replaced as a whole: its administrator is named again.
  const administrator = { username: 'admin-user', passwordHash: testPasswordHash, roles: ['admin'], groups: [] };
  await reloadWith(gateway, { config: { access: { users: [administrator], ...access } } });
  const { access_token: token } = (await ask()).json() as { readonly access_token: string };
  const headers = { Authorization: `Bearer ${token}` };
  assert.equal((await whoami(gateway, headers)).status, 200);
  await reloadWith(gateway, {});
  assertProblem(await whoami(gateway, headers), 401, 'unauthenticated');
});

test('tokens of an issuer are taken as long as the issuer stands in the file', patience, async (t) => {
  const gateway = await startGateway(t);
  const headers = { Authorization: `Bearer ${await provider.token({ roles: ['readonly'] })}` };
  assertProblem(await whoami(gateway, headers), 401, 'unauthenticated');
  await reloadWith(gateway, { config: { access: { oidc: [{ issuer: provider.issuer, audience }] } } });
  assert.equal((await whoami(gateway, headers)).status, 200);
  await reloadWith(gateway, {});
  assertProblem(await whoami(gateway, headers), 401, 'unauthenticated');
});
