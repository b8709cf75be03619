import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { noLog } from '#base/log.ts';
import { accessConfig, createTestClock, type TestClock } from '../../../test/support/gateway/access.ts';
import { eachStore, type TestStore } from '../../../test/support/stores/stores.ts';
import { createAccessRules } from '../access-rules.ts';
import type { AccessOptions, IssuerOptions } from '../rights/access-options.ts';
import { createKnownPersonStore } from './known-person-store.ts';
import { createKnownPersons, type KnownPersons } from './known-persons.ts';
import { principalOfClaims } from './oidc-claims.ts';

const day = 86_400_000;

const issuer: IssuerOptions = {
  issuer: 'https://idp.example.net',
  audience: 'gateway',
  rolesClaim: 'roles',
  groupsClaim: 'groups',
  algorithms: ['ES256'],
  remember: 30 * day,
};

const id = 'oidc:["https://idp.example.net","4711"]';

interface Opened {
  readonly persons: KnownPersons;
  readonly clock: TestClock;
  /** A token of now with these claims, as another gateway on the store verifies it. */
  readonly sees: (claims: Readonly<Record<string, unknown>>) => Promise<void>;
  readonly reload: (config: AccessOptions) => void;
}

async function open(t: TestContext, store: TestStore): Promise<Opened> {
  const [clock, database] = [createTestClock(), await store.open(t)];
  const fetch = (): never => assert.fail('a person is found without its issuer');
  const rulesOf = (config: AccessOptions) => createAccessRules({ config, fetch, clock, log: noLog });
  let rules = rulesOf(accessConfig({ oidc: [issuer] }));
  const create = (): KnownPersons =>
    createKnownPersons({ rules: () => rules, store: createKnownPersonStore(database), clock, log: noLog, isShort: () => false });
  return {
    persons: create(),
    clock,
    async sees(more) {
      const claims = { iss: issuer.issuer, sub: '4711', iat: Math.floor(clock.now() / 1_000), ...more };
      const principal = principalOfClaims(claims, { ...issuer, groupRoles: {}, customRoles: [], isTaken: () => false });
      assert.ok(principal);
      await create().note(issuer, principal, claims);
    },
    reload(config) {
      rules = rulesOf(config);
    },
  };
}

eachStore((store) => {
  test('a person of an issuer is known after its token, with the roles and groups of that token, for 30 days', async (t) => {
    const { persons, clock, sees } = await open(t, store);
    assert.equal(await persons.find(id), undefined);
    await sees({ preferred_username: 'ann', roles: ['engineering', 'unknown'], groups: ['noc'] });
    const { issuer: from, ...known } = (await persons.find(id)) ?? {};
    assert.deepEqual(known, { id, username: 'ann', roles: ['engineering'], groups: ['noc'], subject: '4711' });
    assert.equal(from, issuer.issuer);
    assert.deepEqual(await persons.all(), [{ ...known, issuer: from }]);
    // `iat` has whole seconds.
    clock.advance(30 * day - 1_000);
    assert.equal((await persons.find(id))?.username, 'ann');
    clock.advance(2_000);
    assert.equal(await persons.find(id), undefined, 'a person who left sends no token');
    assert.deepEqual(await persons.all(), []);
  });

  test('the token that was issued last decides, in any order of arrival', async (t) => {
    const { persons, clock, sees } = await open(t, store);
    const first = Math.floor(clock.now() / 1_000);
    clock.advance(3_600_000);
    await sees({ roles: ['readonly'], groups: [] });
    await sees({ iat: first, roles: ['admin'], groups: ['noc'] });
    assert.deepEqual((await persons.find(id))?.roles, ['readonly']);
    clock.advance(1_000);
    await sees({ roles: [] });
    assert.deepEqual((await persons.find(id))?.roles, [], 'a directory took the role away');
  });

  test('a time in the future does not outlast the tokens after it', async (t) => {
    const { persons, clock, sees } = await open(t, store);
    await sees({ iat: Math.floor(clock.now() / 1_000) + 31_536_000, roles: ['admin'] });
    clock.advance(1_000);
    await sees({ roles: ['readonly'] });
    assert.deepEqual((await persons.find(id))?.roles, ['readonly']);
  });

  test('a token without iat, or whose groups the issuer left out, neither changes nor renews what is known', async (t) => {
    const { persons, clock, sees } = await open(t, store);
    await sees({ roles: ['admin'], groups: ['noc'] });
    clock.advance(29 * day);
    await sees({ iat: undefined, roles: ['readonly'] });
    await sees({ roles: ['readonly'], _claim_names: { groups: 'src1' } });
    assert.deepEqual((await persons.find(id))?.groups, ['noc']);
    clock.advance(day + 1_000);
    assert.equal(await persons.find(id), undefined);
  });

  test('a reload decides which issuers, claims and times count', async (t) => {
    const { persons, clock, sees, reload } = await open(t, store);
    await sees({ roles: ['admin'] });
    clock.advance(1_000);
    for (const change of [{ issuer: 'https://other.example.net' }, { rolesClaim: 'gw_roles' }, { remember: 0 }]) {
      reload(accessConfig({ oidc: [{ ...issuer, ...change }] }));
      assert.equal(await persons.find(id), undefined, JSON.stringify(change));
    }
    reload(accessConfig({ oidc: [issuer] }));
    assert.deepEqual((await persons.find(id))?.roles, ['admin']);
  });

  test('people of issuers are listed as they are found, without those who are blocked or were not seen for too long', async (t) => {
    const { persons, clock, sees, reload } = await open(t, store);
    await sees({ sub: 'early', roles: ['admin'] });
    clock.advance(20 * day);
    await sees({ sub: '4712', groups: ['noc'] });
    await sees({ roles: ['admin'] });
    const names = async () => (await persons.all()).map(({ subject = '' }) => subject).toSorted();
    assert.deepEqual(await names(), ['4711', '4712', 'early']);
    clock.advance(11 * day);
    assert.deepEqual(await names(), ['4711', '4712']);
    const groupRoles = { noc: ['other'] } as const;
    reload(accessConfig({ oidc: [issuer], more: { blocked: [id], groupRoles } }));
    assert.deepEqual(
      (await persons.all()).map(({ subject, roles }) => [subject, roles]),
      [['4712', ['other']]],
    );
    assert.equal(await persons.find(id), undefined);
    reload(accessConfig());
    assert.deepEqual(await persons.all(), []);
  });

  test('groups that were remembered have the names and the roles of the configuration in force', async (t) => {
    const { persons, sees, reload } = await open(t, store);
    await sees({ groups: ['guid', 'noc'] });
    reload(
      accessConfig({ oidc: [{ ...issuer, groupNames: { guid: 'leads' } }], more: { groupRoles: { leads: ['engineering'] } } }),
    );
    const { groups, roles } = (await persons.find(id)) ?? {};
    assert.deepEqual([groups, roles], [['leads'], ['engineering']]);
  });

  test('no text that is not the id of a person finds one', async (t) => {
    const { persons, sees } = await open(t, store);
    await sees({ roles: ['admin'] });
    for (const other of [
      '',
      'admin',
      'oidc:',
      'oidc:x',
      'oidc:["https://idp.example.net"]',
      'oidc:["https://idp.example.net","4712"]',
    ])
      assert.equal(await persons.find(other), undefined, other);
  });

  test('a person whose last token is too old is deleted', async (t) => {
    const { persons, clock, sees, reload } = await open(t, store);
    await sees({ roles: ['admin'] });
    clock.advance(30 * day + 1_000);
    await persons.purge();
    reload(accessConfig({ oidc: [{ ...issuer, remember: 60 * day }] }));
    assert.equal(await persons.find(id), undefined);
  });
});
