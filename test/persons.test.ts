import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { SeenApproval } from './support/approvals/approval-caller.ts';
import { assertProblem, post } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { basic, startGateway, testPassword, testPasswordHash } from './support/gateway/start-gateway.ts';
import { eachStore, storeUrl, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { audience, identityProvider } from './support/upstreams/identity-provider.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// One person with several principals counts once (access.persons, equal names): among the people of a call, and among those who grant.

const when = { routes: ['restRequest'] };
const approvers = { groups: ['leads'] };
const call = { params: { method: 'PATCH', path: 'x', accept: 'application/json', contentType: 'application/json' }, body: {} };

async function stage(t: TestContext, store: TestStore, { count = 1 } = {}) {
  const [provider, far] = [await identityProvider(t), await upstream(t)];
  far.answer(() => jsonReply('{}'));
  const url = storeUrl(await store.empty(t));
  const user = (username: string, roles: readonly string[] = ['admin']) => ({
    username,
    passwordHash: testPasswordHash,
    roles,
    groups: ['leads'],
  });
  const configured = (access: object = {}) => ({
    adapters: [{ name: 'Far', kind: 'rest', url: far.url }],
    users: [user('ann'), user('lea', []), user('leo', [])],
    config: {
      store: { url },
      approvals: [{ name: 'changes', when, approvers, count }],
      access: {
        oidc: [{ issuer: provider.issuer, audience }],
        clients: [{ clientId: 'ann-cli', secretHash: testPasswordHash, roles: [], groups: ['leads'] }],
        ...access,
      },
    },
  });
  const gateway = await startGateway(t, configured());
  const asked = async (as: string): Promise<string> => {
    const reply = await post(gateway, '/orchestrator_manager/restRequest/Far', call, { headers: { Authorization: as } });
    return assertProblem(reply, 403, 'approval-required').approval?.id ?? '';
  };
  const read = async (as: string, id: string): Promise<SeenApproval> =>
    (await gateway.send({ target: `/approvals/${id}`, headers: { Authorization: as } })).json() as SeenApproval;
  const grant = (as: string, id: string): Promise<Reply> =>
    post(gateway, `/approvals/${id}/grant`, { reason: 'planned' }, { headers: { Authorization: as } });
  const person = async (sub: string, preferred: string): Promise<string> =>
    `Bearer ${await provider.token({ sub, preferred_username: preferred, groups: ['leads'] })}`;
  return { gateway, provider, configured, asked, read, grant, person };
}

const by = (name: string): string => basic(name, testPassword);

eachStore((store) => {
  test('the caller of a call grants it with no other principal of the same person', async (t) => {
    const { gateway, provider, configured, asked, read, grant, person } = await stage(t, store);
    const id = await asked(by('ann'));
    const sameName = await person('4711', 'ＡＮＮ');
    const seen = await read(sameName, id);
    assert.deepEqual([seen.mayDecide, seen.whyNot?.code], [false, 'same-person']);
    assertProblem(await grant(sameName, id), 403, 'forbidden');
    const another = await person('4712', 'a.miller');
    assert.equal((await read(another, id)).mayDecide, true);
    const ids = ['ann', 'ann-cli', `oidc:${JSON.stringify([provider.issuer, '4712'])}`];
    await reloadWith(gateway, configured({ persons: { 'Ann Miller': ids } }));
    assert.deepEqual((await read(another, id)).whyNot?.code, 'same-person');
    assertProblem(await grant(another, id), 403, 'forbidden');
    assert.equal((await grant(by('lea'), id)).status, 200);
  });

  test('a person counts once among those who grant, and a grant that a reload makes a second one is withdrawn', async (t) => {
    const { gateway, configured, asked, read, grant, person } = await stage(t, store, { count: 2 });
    const id = await asked(by('ann'));
    assert.equal((await grant(by('lea'), id)).status, 200);
    const sameName = await person('1', 'Lea');
    assert.deepEqual((await read(sameName, id)).whyNot, {
      code: 'same-person',
      detail: 'You are the same person as lea, who has granted it already.',
    });
    assertProblem(await grant(sameName, id), 403, 'forbidden');
    assert.equal((await grant(by('leo'), id)).status, 200);
    assert.equal((await read(by('ann'), id)).status, 'granted');
    await reloadWith(gateway, configured({ persons: { lea: ['lea', 'leo'] } }));
    const { status, decisions } = await read(by('ann'), id);
    assert.equal(status, 'waiting');
    assert.deepEqual(
      decisions.map(({ principal, withdrawn }) => [principal, withdrawn !== undefined]),
      [
        ['lea', false],
        ['leo', true],
      ],
    );
    // For good: the store has it, and a configuration without the entry brings nothing back.
    await reloadWith(gateway, configured());
    assert.equal((await read(by('ann'), id)).status, 'waiting');
    assert.equal((await grant(await person('2', 'zoe'), id)).status, 200);
    assert.equal((await read(by('ann'), id)).status, 'granted');
  });

  test('a block withdraws a grant of a person of an issuer, although no token takes its groups away', async (t) => {
    const { gateway, provider, configured, asked, read, grant, person } = await stage(t, store);
    const id = await asked(by('ann'));
    assert.equal((await grant(await person('7', 'zoe'), id)).status, 200);
    const blocked = [`oidc:${JSON.stringify([provider.issuer, '7'])}`];
    await reloadWith(gateway, configured({ blocked }));
    const { status, decisions } = await read(by('ann'), id);
    assert.deepEqual([status, decisions[0]?.withdrawn !== undefined], ['waiting', true]);
    await reloadWith(gateway, configured());
    await until('the approval is read again', async () => (await read(by('ann'), id)).status === 'waiting');
    const sent = await post(gateway, '/orchestrator_manager/restRequest/Far', call, {
      headers: { Authorization: by('ann'), Approval: id },
    });
    assertProblem(sent, 403, 'approval-required');
  });
});
