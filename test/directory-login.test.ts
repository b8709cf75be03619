import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Reply } from './support/callers/http-client.ts';
import { LoginBrowser } from './support/callers/login-browser.ts';
import { logLines, reloadWith } from './support/gateway/reloading.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { readStream } from './support/runs/read-stream.ts';
import { until } from './support/until.ts';
import { audience } from './support/upstreams/identity-provider.ts';
import { consoleClientId, type LoginProvider, loginProvider } from './support/upstreams/login-provider.ts';

// Logins of the console by a directory: the secret of the client, groups that have ids, and groups that are left out.

const secret = 'a secret with % + : and ü';
const plain = await loginProvider({ after });
const byBasic = await loginProvider({ after }, { secret });
const byForm = await loginProvider(
  { after },
  { secret, discovery: { token_endpoint_auth_methods_supported: ['client_secret_post', 'private_key_jwt'] } },
);
const byNone = await loginProvider(
  { after },
  { secret, discovery: { token_endpoint_auth_methods_supported: ['private_key_jwt'] } },
);
const guids = { 'guid-noc': 'noc', 'guid-leads': 'noc-leads' };

interface Directory {
  readonly groupNames?: object | undefined;
  readonly groupRoles?: object;
  readonly blocked?: readonly string[];
  readonly consoleSecret?: string;
}

function configured({
  groupNames = guids,
  groupRoles = { 'noc-leads': ['engineering'] },
  blocked = [],
  consoleSecret = secret,
}: Directory = {}) {
  const client = { audience, consoleClientId };
  const confidential = [byBasic, byForm, byNone].map(({ issuer }) => ({ issuer, ...client, consoleClientSecret: secret }));
  const [first, ...rest] = confidential;
  return {
    config: {
      access: {
        oidc: [{ issuer: plain.issuer, ...client, groupNames }, { ...first, consoleClientSecret: consoleSecret }, ...rest],
        groupRoles,
        blocked,
      },
    },
  };
}

const gateway = await startGateway({ after }, configured());
const isBuilt = (await gateway.send({ target: '/console' })).status === 200;
const skip = isBuilt || process.env['CI'] === 'true' ? false : 'the console is not built: npm run build:console';

async function logIn(
  provider: LoginProvider,
  person: object,
  to = '',
): Promise<{ readonly browser: LoginBrowser; readonly reply: Reply }> {
  provider.person = { ...person };
  const browser = new LoginBrowser(gateway);
  const begun = await browser.begin(`?issuer=${encodeURIComponent(provider.issuer)}${to === '' ? '' : `&to=${to}`}`);
  const back = await provider.logIn(begun);
  return { browser, reply: await browser.open(back.pathname + back.search) };
}

describe('a console that is a confidential client', { skip }, () => {
  test('sends its secret by HTTP Basic, and in the form where the issuer takes it there alone', async () => {
    for (const provider of [byBasic, byForm]) {
      const { browser, reply } = await logIn(provider, { sub: 's', preferred_username: 'ann' });
      assert.equal(reply.header('location'), '/console', reply.text);
      assert.notEqual(await browser.who(), 401);
      const [form] = provider.exchanges.slice(-1);
      assert.ok(form?.has('code_verifier'), 'a secret replaces no PKCE');
      assert.equal(form?.has('client_secret'), provider === byForm);
      assert.equal(provider.authorizations.at(-1) === undefined, provider === byForm);
    }
    assert.ok(!gateway.stderr.some((line) => line.includes(secret)));
  });

  test('does not log people in by an issuer that takes no secret', async () => {
    const { reply } = await logIn(byNone, { sub: 's' });
    assert.match(reply.header('location') ?? '', /^\/console\/login\?failure=issuer-unavailable/u);
    assert.equal(byNone.exchanges.length, 0, 'the code did not leave');
  });

  test('with a wrong secret logs no person in, and a changed secret ends the sessions of that issuer alone', async () => {
    const { browser } = await logIn(byBasic, { sub: 's', preferred_username: 'ann' });
    const other = await logIn(byForm, { sub: 's', preferred_username: 'bea' });
    await reloadWith(gateway, configured());
    assert.notEqual(await browser.who(), 401, 'the same secret ends nothing');
    await reloadWith(gateway, configured({ consoleSecret: 'another' }));
    assert.equal(await browser.who(), 401);
    assert.notEqual(await other.browser.who(), 401);
    const { reply } = await logIn(byBasic, { sub: 's' });
    assert.match(reply.header('location') ?? '', /^\/console\/login\?failure=not-valid/u);
    await reloadWith(gateway, configured());
  });
});

describe('a session of a directory', { skip }, () => {
  const roles = async (browser: LoginBrowser) => {
    const { groups, roles: held } = (await browser.who()) as {
      readonly groups: readonly string[];
      readonly roles: readonly string[];
    };
    return [groups, held];
  };

  test('has the groups by their names and the roles of its groups, by the configuration in force', async () => {
    const claims = { sub: 's1', preferred_username: 'ann', roles: ['readonly'], groups: ['guid-leads', 'guid-other', 'noc'] };
    const { browser } = await logIn(plain, claims);
    assert.deepEqual(await roles(browser), [['noc-leads'], ['engineering', 'readonly']]);
    await reloadWith(gateway, configured({ groupRoles: { 'noc-leads': ['other'] } }));
    assert.deepEqual(await roles(browser), [['noc-leads'], ['other', 'readonly']], 'no role of a group is in the session');
    await reloadWith(gateway, configured({ groupNames: { 'guid-noc': 'noc' } }));
    assert.deepEqual(await roles(browser), [[], ['readonly']]);
    await reloadWith(gateway, configured());
  });

  test('without the groups that the issuer left out begins on the login page, which says so, and the log too', async () => {
    const left = { sub: 's2', preferred_username: 'bea', _claim_names: { groups: 'src1' }, groups: ['guid-leads'] };
    const { browser, reply } = await logIn(plain, left, '/runs');
    assert.equal(reply.header('location'), '/console/login?notice=groups-left-out&to=%2Fruns');
    assert.deepEqual(await roles(browser), [[], []]);
    const requestId = reply.header('x-request-id');
    await until('the log says so', () =>
      logLines(gateway).some((line) => line.requestId === requestId && /left the groups out of a token/u.test(line.msg)),
    );
  });

  test('does not begin for a person who is blocked, and ends with the block', async (t) => {
    const id = `oidc:${JSON.stringify([plain.issuer, 's3'])}`;
    const { browser } = await logIn(plain, { sub: 's3', preferred_username: 'cid' });
    const bearer = { Authorization: `Bearer ${await plain.token({ sub: 's3' })}` };
    assert.equal((await gateway.send({ target: '/whoami', headers: bearer })).status, 200);
    const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ');
    const stream = await readStream(t, gateway, { as: '', target: '/events', cookie });
    assert.equal(stream.response.statusCode, 200);
    await reloadWith(gateway, configured({ blocked: [id] }));
    await stream.end();
    assert.equal(await browser.who(), 401);
    assert.equal((await gateway.send({ target: '/whoami', headers: bearer })).status, 401);
    const { browser: again, reply } = await logIn(plain, { sub: 's3', preferred_username: 'cid' });
    assert.match(reply.header('location') ?? '', /^\/console\/login\?failure=blocked/u);
    assert.deepEqual([await again.who(), reply.header('set-cookie')], [401, undefined]);
    const { reply: other } = await logIn(plain, { sub: 's4', preferred_username: 'cid' });
    assert.equal(other.header('location'), '/console', 'the id is blocked, and no name');
    await until('the attempt is on record with its person', async () => {
      const audit = await gateway.send({ role: 'admin', target: '/audit?limit=50' });
      const { list } = audit.json() as { readonly list: readonly Readonly<Record<string, unknown>>[] };
      return list.some(
        (one) => one['requestId'] === reply.header('x-request-id') && one['subject'] === 's3' && one['outcome'] === 'refused',
      );
    });
    await reloadWith(gateway, configured());
  });
});
