import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { GatewayError } from '#base/gateway-error.ts';
import { accessConfig, createTestClock, openAccess } from '../../test/support/gateway/access.ts';
import { eachStore, type TestStore } from '../../test/support/stores/stores.ts';
import { idOfIssuer } from './principal.ts';
import type { AccessOptions, IssuerOptions } from './rights/access-options.ts';

// A week of a directory: it rotates its keys, takes a group away, leaves groups out, sends old tokens, and is away for a day. What a person may
// do with a token is what the token says; what counts at 02:00 is what the newest token said.

const hour = 3_600_000;
const day = 24 * hour;

async function directory(t: TestContext) {
  const state = { keys: [] as JWK[], isAway: false };
  const server = createServer((request, response) => {
    if (state.isAway) {
      response.destroy();
      return;
    }
    const documents = { '/keys': { keys: state.keys }, default: { issuer: url, jwks_uri: `${url}/keys` } };
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(request.url === '/keys' ? documents['/keys'] : documents.default));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    state,
    /** Publishes a new key in the place of the others; answers what signs with it. */
    async rotate(kid: string) {
      const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
      state.keys = [{ ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' }];
      return (claims: Readonly<Record<string, unknown>>): Promise<string> =>
        new SignJWT({ ...claims }).setProtectedHeader({ alg: 'ES256', kid }).sign(privateKey);
    },
  };
}

async function week(t: TestContext, store: TestStore) {
  const idp = await directory(t);
  const clock = createTestClock();
  const issuer: IssuerOptions = {
    issuer: idp.url,
    audience: 'gateway',
    rolesClaim: 'roles',
    groupsClaim: 'groups',
    algorithms: ['ES256'],
    remember: 3 * day,
  };
  const configured = (blocked: readonly string[] = []): AccessOptions =>
    accessConfig({ oidc: [issuer], more: { groupRoles: { noc: ['other'], leads: ['engineering'] }, blocked } });
  const { access } = await openAccess(t, {
    database: await store.open(t),
    clock,
    config: configured(),
    fetch: (url) => fetch(url),
  });
  const seconds = (): number => Math.floor(clock.now() / 1_000);
  return {
    idp,
    clock,
    block: (...ids: readonly string[]) => access.reload(configured(ids)),
    idOf: (sub: string) => idOfIssuer(idp.url, sub),
    /** The claims of a token of now, valid for a week. */
    claims: (sub: string, groups: readonly string[], more: object = {}) => ({
      iss: idp.url,
      aud: 'gateway',
      sub,
      groups,
      iat: seconds(),
      exp: seconds() + 7 * 86_400,
      ...more,
    }),
    /** The roles of a caller with the token, or the code of the refusal. */
    async asks(token: string): Promise<readonly string[] | string> {
      try {
        const authentication = await access.authenticate({ authorization: `Bearer ${token}`, sourceAddress: '192.0.2.1' });
        return authentication.principal.roles;
      } catch (error) {
        assert.ok(error instanceof GatewayError, String(error));
        return error.code;
      }
    },
    /** The roles that count while the person is absent. */
    absent: async (sub: string) => (await access.principalNow(idOfIssuer(idp.url, sub)))?.roles,
  };
}

eachStore((store) => {
  test('what people of a directory may do during a week follows their newest token, with keys, groups and days that go missing', async (t) => {
    const { idp, clock, claims, block, idOf, ...made } = await week(t, store);
    const asks = (token: string) => made.asks(token);
    const absent = (sub: string) => made.absent(sub);

    // Monday: both log in.
    const monday = await idp.rotate('monday');
    const first = await monday(claims('ann', ['noc', 'leads']));
    assert.deepEqual(await asks(first), ['engineering', 'other']);
    assert.deepEqual(await asks(await monday(claims('ben', ['noc']))), ['other']);
    assert.deepEqual([await absent('ann'), await absent('ben')], [['engineering', 'other'], ['other']]);

    // Tuesday: a new key. A token of the old one is refused, and takes nothing from what is known.
    clock.advance(day);
    const tuesday = await idp.rotate('tuesday');
    const second = await tuesday(claims('ann', ['noc', 'leads']));
    assert.deepEqual(await asks(second), ['engineering', 'other']);
    assert.equal(await asks(first), 'unauthenticated');
    assert.deepEqual(await absent('ann'), ['engineering', 'other']);

    // Wednesday: the directory takes a group away. The token of Tuesday still says it, for its own requests alone.
    clock.advance(day);
    assert.deepEqual(await asks(await tuesday(claims('ann', ['noc']))), ['other']);
    assert.deepEqual(await asks(second), ['engineering', 'other']);
    assert.deepEqual(await absent('ann'), ['other'], 'an old token brings no group back');

    // Thursday: too many groups for a token. It gives none, and neither changes nor renews what is known.
    clock.advance(day + 1_000);
    for (const left of [{ _claim_names: { groups: 'src1' } }, { hasgroups: true, groups: undefined }])
      assert.deepEqual(await asks(await tuesday(claims('ann', ['leads'], left))), []);
    assert.deepEqual(await absent('ann'), ['other']);
    assert.equal(await absent('ben'), undefined, 'three days after the last token of ben');

    // Friday: the directory is away. Its keys are good for an hour; then no token can be judged, and schedules go on.
    idp.state.isAway = true;
    const friday = await tuesday(claims('ann', ['noc']));
    clock.advance(30 * 60_000);
    assert.deepEqual(await asks(friday), ['other']);
    clock.advance(hour);
    assert.equal(await asks(friday), 'issuer-unavailable', 'refused as unavailable, and not as wrong');
    assert.deepEqual(await absent('ann'), ['other']);

    // Saturday: it is back, with a clock that is ahead and another key. A time in the future does not outlast the token of Sunday.
    clock.advance(day);
    idp.state.isAway = false;
    const saturday = await idp.rotate('saturday');
    const ahead = claims('ann', ['noc', 'leads'], { iat: Math.floor(clock.now() / 1_000) + 30 * 86_400 });
    assert.deepEqual(await asks(await saturday(ahead)), ['engineering', 'other']);

    // Sunday: no role is left. Then ann leaves, and the operator blocks her id.
    clock.advance(day);
    const last = await saturday(claims('ann', []));
    assert.deepEqual([await asks(last), await absent('ann')], [[], []]);
    block(idOf('ann'));
    assert.equal(await asks(last), 'unauthenticated');
    assert.equal(await absent('ann'), undefined);
    assert.deepEqual(await asks(await saturday(claims('ben', ['leads']))), ['engineering'], 'the block is of one id');
  });
});
