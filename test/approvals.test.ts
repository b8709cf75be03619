// suite: waiting

import assert from 'node:assert/strict';
import { before, beforeEach, test } from 'node:test';
import { approvalCaller, type Person, people, type SeenApproval } from './support/approvals/approval-caller.ts';
import { assertProblem } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { basic, type Gateway, startGateway, startGatewayProcess, testPassword } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { type Owner, suiteOwner } from './support/owner.ts';
import { readStream } from './support/runs/read-stream.ts';
import { eachStore, storeUrl, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { audience, identityProvider } from './support/upstreams/identity-provider.ts';
import { httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// Calls that people must approve before they leave, through HTTP (docs/guides/approvals.md).

const accept = 'application/yang-data+json';
const leads = { groups: ['noc-leads'] };
const approvals = [
  { name: 'core-changes', when: { routes: ['restAction', 'restRequest'], paths: ['**/sync-to'] }, approvers: leads },
  { name: 'two-people', when: { paths: ['**/two'] }, approvers: leads, count: 2 },
  { name: 'both', when: { paths: ['**/two'] }, approvers: { roles: ['admin'] }, selfApproval: true },
  { name: 'soon-over', when: { paths: ['**/short'] }, approvers: leads, expires: '1s' },
  { name: 'reads', when: { routes: ['restQuery'], paths: ['**/secret'] }, approvers: leads },
  { name: 'outside', when: { routes: ['restCall'], methods: ['POST'] }, approvers: leads },
];
const device = 'restconf/data/tailf-ncs:devices/device=core-1';
const json = { accept, contentType: 'application/json' };

/** An upstream, and what a gateway in front of it is started with. */
async function stage(owner: Owner, store?: string) {
  const far = await upstream(owner);
  far.answer(() => jsonReply('{"done":true}'));
  const { port } = new URL(far.url);
  const options = {
    users: [...people],
    config: {
      outbound: { allow: [far.authority, `localhost:${port}`] },
      approvals,
      ...(store !== undefined && { store: { url: store } }),
    },
    // Of kind nso, the gateway would read the YANG library for each preview.
    adapters: [{ name: 'Local NSO', kind: 'restconf', url: far.url, auth: { type: 'none' } }],
  };
  return { far, options };
}

async function started(owner: Owner, store?: string) {
  const { far, options } = await stage(owner, store);
  const gateway = await startGateway(owner, options);
  const caller = approvalCaller(() => gateway);
  return { far, gateway, options, act: actingAs(caller), ...caller };
}

/** As `started`, with a gateway that `restart` kills and starts again. */
async function killable(owner: Owner, store: string) {
  const { far, options } = await stage(owner, store);
  let gateway = await startGatewayProcess(owner, options);
  const caller = approvalCaller(() => gateway);
  const restart = async (): Promise<void> => {
    await gateway.stop('SIGKILL');
    gateway = await gateway.restart();
  };
  return { far, gateway: { restart }, act: actingAs(caller), ...caller };
}

function actingAs({ send }: Pick<ReturnType<typeof approvalCaller>, 'send'>) {
  return (person: Person, path: string, body: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> => {
    const text = `{"params":${JSON.stringify({ path, ...json })},"body":${body}}`;
    return send(person, 'POST', '/orchestrator_manager/restAction/Local%20NSO', text, headers);
  };
}

async function auditOf(gateway: Gateway, approval: string): Promise<readonly Record<string, unknown>[]> {
  const reply = await gateway.send({ role: 'admin', target: '/audit?limit=200' });
  const { list } = reply.json() as { readonly list: readonly Record<string, unknown>[] };
  return list.filter((record) => (record['approval'] as { readonly _id: string } | undefined)?._id === approval);
}

function suiteOf(store: TestStore): void {
  let shared: Awaited<ReturnType<typeof started>>;
  const owner = suiteOwner();
  before(async () => {
    shared = await started(owner, storeUrl(await store.empty(owner)));
  });
  // Each test counts its own requests at the upstream.
  beforeEach(() => shared.far.answer(() => jsonReply('{"done":true}')));

  test('an approved call leaves once, byte for byte, and everything about it is on record and in the events', async (t) => {
    const { far, gateway, act, needed, read, list, decide, grant, send } = shared;
    const body = '{"devices": [ 18446744073709551615, 1.0 ]}';
    const path = `${device}/sync-to`;
    const id = needed(await act('ann', path, body, { 'X-Reason': 'CHG-4711 ä' }));
    assert.equal(far.requests.length, 0);
    assert.equal(needed(await act('ann', path, body)), id, 'the same call gets the same id');

    const seen = await read('lea', id);
    assert.deepEqual([seen.status, seen.mayDecide, seen.principal, seen.reason], ['waiting', true, 'ann', 'CHG-4711 ä']);
    assert.deepEqual(seen.call, {
      route: 'restAction',
      adapter: 'Local NSO',
      method: 'POST',
      path,
      headers: { Accept: accept, 'Content-Type': 'application/json' },
      body,
      redacted: false,
    });
    assert.equal((await read('ann', id)).mayDecide, false);
    assertProblem(await send('eve', 'GET', `/approvals/${id}`), 404, 'approval-not-found');
    assert.deepEqual((await list('eve')).length, 0);
    assert.deepEqual(
      (await list('leo', '?status=waiting')).map((one) => one.id),
      [id],
    );

    assert.equal(needed(await act('ann', path, body, { Approval: id })), id, 'it is not granted yet');
    assertProblem(await decide('ann', id, 'grant'), 403, 'forbidden');
    assertProblem(await send('lea', 'POST', `/approvals/${id}/grant`, { reason: '' }), 400, 'invalid-request');
    assert.equal((await grant('lea', id)).status, 'granted');
    assertProblem(await decide('leo', id, 'grant'), 409, 'approval-granted');
    assert.equal(needed(await act('ann', path, body)), id, 'the header is missing');
    assert.equal(far.requests.length, 0);

    for (const [changed, other] of [
      ['another body', act('ann', path, '{"devices":[18446744073709551615,1.0]}', { Approval: id })],
      ['another caller', act('bob', path, body, { Approval: id })],
      ['another header', act('ann', path, body, { Approval: id, 'If-Match': '"x"' })],
      ['another path', act('ann', `${path}?dry-run`, body, { Approval: id })],
      ['no such id', act('ann', path, body, { Approval: 'x' })],
    ] as const)
      assert.equal(assertProblem(await other, 403).code, 'approval-mismatch', changed);
    assert.equal(far.requests.length, 0);

    const replies = await Promise.all([1, 2, 3].map(() => act('ann', path, body, { Approval: id })));
    const codes = replies.map(({ status }) => status).toSorted((one, other) => one - other);
    assert.deepEqual(codes, [200, 409, 409]);
    assert.equal(far.requests.length, 1);
    assert.equal(far.request.body.toString(), body);
    assert.equal(far.request.header('approval'), undefined);
    assert.equal(far.request.header('x-reason'), undefined);
    assertProblem(await act('ann', path, body, { Approval: id }), 409, 'approval-used');
    assertProblem(await decide('leo', id, 'reject'), 409, 'approval-used');
    const used = await read('ann', id);
    const call = replies.find(({ status }) => status === 200);
    assert.equal(used.status, 'used');

    await until('the uses are on record', async () => (await auditOf(gateway, id)).length >= 5);
    const records = await auditOf(gateway, id);
    const intent = records.find((record) => record['id'] === used.usedBy);
    assert.deepEqual(
      [intent?.['requestId'], intent?.['outcome'], intent?.['principal']],
      [call?.header('x-request-id'), 'ok', 'ann'],
    );
    assert.ok(records.some(({ route, principal }) => route === 'POST /approvals/:id/grant' && principal === 'lea'));
    await until('the use is announced', async () => (await read('ann', id)).status === 'used');
    const types = ['requested', 'granted', 'used'].map((kind) => `orchestration-gateway.approval.${kind}.v1`);
    for (const person of ['lea', 'ann'] as const) {
      const stream = await readStream(t, gateway, { as: basic(person, testPassword), target: '/events', after: '0' });
      await stream.has(types.length);
      assert.deepEqual(
        stream.events.map(({ type }) => type),
        types,
        person,
      );
    }
  });

  test('several rules are one approval with the state of each, and each grant counts for every rule of its person', async () => {
    const { far, act, needed, grant, read, decide } = shared;
    const id = needed(await act('ann', `${device}/two`, '{"a":1}'));
    const states = async () => (await read('bob', id)).rules.map(({ name, grants, satisfied }) => [name, grants, satisfied]);
    assert.deepEqual(await states(), [
      ['two-people', 0, false],
      ['both', 0, false],
    ]);
    assert.equal((await grant('bob', id)).status, 'waiting');
    assert.equal((await grant('bob', id)).status, 'waiting', 'a second grant of one person changes nothing');
    assert.deepEqual(await states(), [
      ['two-people', 1, false],
      ['both', 1, true],
    ]);
    assert.equal((await grant('lea', id)).status, 'granted');
    assert.equal((await act('ann', `${device}/two`, '{"a":1}', { Approval: id })).status, 200);
    const other = needed(await act('ann', `${device}/two`, '{"a":2}'));
    assert.equal((await grant('lea', other)).status, 'waiting');
    const rejected = await decide('leo', other, 'reject', 'Not tonight.');
    assert.equal((rejected.json() as { readonly status: string }).status, 'rejected');
    const refused = assertProblem(await act('ann', `${device}/two`, '{"a":2}', { Approval: other }), 409, 'approval-rejected');
    assert.match(refused.detail, /leo: Not tonight\./u);
    assert.notEqual(needed(await act('ann', `${device}/two`, '{"a":2}')), other, 'a new call asks again');
    assert.equal(far.requests.length, 1);
  });

  test('an approval that was granted can expire before its use, and one that waits can too', async () => {
    const { far, gateway, act, needed, grant, read, decide } = shared;
    const id = needed(await act('ann', `${device}/short`, '{"a":1}'));
    const waiting = needed(await act('ann', `${device}/short`, '{"a":2}'));
    await grant('lea', id);
    await until('both have expired', async () => (await read('ann', waiting)).status === 'expired');
    assertProblem(await act('ann', `${device}/short`, '{"a":1}', { Approval: id }), 409, 'approval-expired');
    assertProblem(await decide('lea', waiting, 'grant'), 409, 'approval-expired');
    assert.equal(far.requests.length, 0);
    await until('it is on record', async () => (await auditOf(gateway, id)).some(({ event }) => event === 'expired'));
  });

  test('an Idempotency-Key gives the reply of an approved call again, with or without its approval', async () => {
    const { far, act, needed, grant } = shared;
    const key = { 'Idempotency-Key': 'k-1' };
    const id = needed(await act('ann', `${device}/sync-to`, '{"a":1}', key));
    await grant('lea', id);
    const first = await act('ann', `${device}/sync-to`, '{"a":1}', { ...key, Approval: id });
    assert.equal(first.status, 200, first.text);
    for (const headers of [key, { ...key, Approval: id }]) {
      const again = await act('ann', `${device}/sync-to`, '{"a":1}', headers);
      assert.deepEqual([again.status, again.text, again.header('idempotency-replayed')], [200, first.text, 'true']);
    }
    assert.equal(far.requests.length, 1);
  });

  test('calls that bring the same X-Request-Id use an approval up once', async () => {
    const { far, act, needed, grant, read } = shared;
    const id = needed(await act('ann', `${device}/sync-to`, '{"a":1}'));
    await grant('lea', id);
    const headers = { Approval: id, 'X-Request-Id': 'the-same' };
    for (let round = 0; round < 3; round += 1)
      await Promise.all([1, 2, 3, 4].map(() => act('ann', `${device}/sync-to`, '{"a":1}', headers)));
    assert.equal(far.requests.length, 1);
    const { status, usedBy = '' } = await read('ann', id);
    assert.equal(status, 'used');
    assert.match(usedBy, /^[0-9a-z]+-[0-9a-f]+\/\d+$/u, 'its id is that of the audit log, which no caller chooses');
  });

  test('an id that no approval can have is not found', async () => {
    const { act, send } = shared;
    for (const id of ['%00', 'x', 'x'.repeat(1000)]) {
      assertProblem(await send('ann', 'GET', `/approvals/${id}`), 404, 'approval-not-found');
      assertProblem(await send('ann', 'POST', `/approvals/${id}/grant`, { reason: 'x' }), 404, 'approval-not-found');
    }
    for (const Approval of ['', 'a, b', 'é'])
      assertProblem(await act('ann', `${device}/open`, '{}', { Approval }), 403, 'approval-mismatch');
  });

  test('a gateway that is killed around the use of an approval lets its call leave at most once', async (t) => {
    const url = storeUrl(await store.empty(t));
    const { far, gateway, act, needed, grant, read } = await killable(t, url);
    for (let round = 0; round < 6; round += 1) {
      const body = `{"round":${round}}`;
      const arrived = () => far.requests.filter((request) => request.body.toString() === body).length;
      const id = needed(await act('ann', `${device}/sync-to`, body));
      await grant('lea', id);
      const sent = act('ann', `${device}/sync-to`, body, { Approval: id }).catch(() => undefined);
      await lapse(round * 3, 'the kill meets another moment of the call');
      await gateway.restart();
      await sent;
      const { status } = await read('ann', id);
      const before = arrived();
      assert.ok(before <= 1);
      if (before === 1) assert.equal(status, 'used');
      const again = await act('ann', `${device}/sync-to`, body, { Approval: id });
      if (status === 'granted') assert.equal(again.status, 200, again.text);
      else assertProblem(again, 409, 'approval-used');
      assert.equal(arrived(), status === 'granted' ? 1 : before);
    }
  });

  test('an approval can be used again where nothing left the gateway', async (t) => {
    const { far, gateway, options, act, needed, grant, read } = await started(t, storeUrl(await store.empty(t)));
    const id = needed(await act('ann', `${device}/sync-to`, '{"a":1}'));
    await grant('lea', id);
    const [adapter] = options.adapters;
    await reloadWith(gateway, { ...options, adapters: [{ ...adapter, url: 'http://127.0.0.1:1' }] });
    const failed = await act('ann', `${device}/sync-to`, '{"a":1}', { Approval: id });
    assert.equal(failed.status, 502, failed.text);
    assert.equal((await read('ann', id)).status, 'granted');
    await reloadWith(gateway, options);
    assert.equal((await act('ann', `${device}/sync-to`, '{"a":1}', { Approval: id })).status, 200);
    assert.equal(far.requests.length, 1);
  });
}

eachStore(suiteOf);

test('rules match a call in every entrance and spelling, and a redirect does not evade them', async (t) => {
  const { far, gateway, act, needed, grant, send, read } = await started(t);
  const query = (path: string, headers = {}) =>
    send('ann', 'POST', '/orchestrator_manager/restQuery/Local%20NSO', { params: { path, accept } }, headers);
  const request = (path: string) =>
    send('ann', 'POST', '/orchestrator_manager/restRequest/Local%20NSO', { params: { method: 'POST', path, accept }, body: {} });
  needed(await request(`${device}/sync-to`));
  for (const path of [`${device}/sync%2Dto`, `${device}/sync-to;x=1`, `${device}/x%252fsync-to`, `${device}//sync-to?dry-run=x`])
    needed(await act('ann', path, '{}'));
  const id = needed(await query('restconf/data/secret'));
  await grant('lea', id);
  assert.equal((await query('restconf/data/secret', { Approval: id })).status, 200);
  assertProblem(await query('restconf/data/secret', { Approval: id }), 409, 'approval-used');
  assert.equal((await query('restconf/data/open')).status, 200);
  assert.equal(far.requests.length, 2);

  const restCall = (uri: string, headers = {}, more = {}) =>
    send(
      'ann',
      'POST',
      '/tools/restCall',
      { uri, verb: 'POST', user: 'me', password: 'hush-hush', body: { a: 1 }, responseHeaders: false, ...more },
      headers,
    );
  const outside = needed(await restCall(`${far.url}/x?key=1`));
  const shown = (await read('lea', outside)).call;
  assert.deepEqual([shown?.path, shown?.user, shown?.headers], [`${far.url}/x?key=1`, 'me', { Authorization: '***' }]);
  assert.doesNotMatch(JSON.stringify(await read('lea', outside)), /hush/u);
  await grant('lea', outside);
  assertProblem(await restCall(`${far.url}/x?key=1`, { Approval: outside }, { password: 'other' }), 403, 'approval-mismatch');
  assert.equal((await restCall(`${far.url}/x?key=1`, { Approval: outside })).status, 200);

  far.answer(({ target }) =>
    target === '/from' ? httpReply({ status: 307, headers: { Location: `${far.url}/restconf/data/two` } }) : jsonReply('{}'),
  );
  const redirected = await send('ann', 'POST', '/tools/restCall', {
    uri: `${far.url}/from`,
    verb: 'GET',
    responseHeaders: false,
  });
  assert.match(assertProblem(redirected, 502, 'redirect-refused').detail, /needs the approval "two-people"/u);
  assert.equal(far.requests.length, 1);

  const answer = await send('ann', 'POST', '/access/explain', {
    principal: 'ann',
    route: 'restAction',
    adapter: 'Local NSO',
    path: `${device}/two`,
  });
  assert.deepEqual((answer.json() as { readonly approvals: unknown }).approvals, ['two-people', 'both']);
  assert.equal(gateway.stderr.join('').includes('hush'), false);
});

test('an approval of one address does not let the call go on to another origin that its rule matches', async (t) => {
  const { far, needed, grant, send } = await started(t);
  const origin = far.url.replace('127.0.0.1', 'localhost');
  const post = (headers = {}) =>
    send('ann', 'POST', '/tools/restCall', { uri: `${far.url}/x`, verb: 'POST', body: {}, responseHeaders: false }, headers);
  far.answer(({ target }) =>
    target === '/x' ? httpReply({ status: 307, headers: { Location: `${origin}/y` } }) : jsonReply('{}'),
  );
  const id = needed(await post());
  await grant('lea', id);
  assert.match(assertProblem(await post({ Approval: id }), 502, 'redirect-refused').detail, /needs the approval "outside"/u);
  assert.deepEqual(
    far.requests.map(({ target }) => target),
    ['/x'],
  );
});

test('the list and the events of approvals have no body, no preview and no value of a query', async (t) => {
  const { gateway, act, needed, read, send } = await started(t);
  const id = needed(await act('ann', `${device}/sync-to?token=hush`, '{"a":"hush"}'));
  await until('it has its preview', async () => (await read('lea', id)).preview !== undefined);
  const page = await send('lea', 'GET', '/approvals');
  const { list } = page.json() as { readonly list: readonly SeenApproval[] };
  assert.deepEqual([list.length, list[0]?.call?.body, list[0]?.preview], [1, undefined, undefined]);
  assert.equal((await read('lea', id)).call?.body, '{"a":"hush"}');
  const stream = await readStream(t, gateway, { as: basic('lea', testPassword), target: '/events', after: '0' });
  await stream.has(1);
  assert.doesNotMatch(JSON.stringify(stream.events), /hush/u);
});

test('a body that leaves as a form or as XML is shown so', async (t) => {
  const { far, needed, grant, read, send } = await started(t);
  for (const [contentType, body] of [
    ['application/yang-data+xml', '{"a":{"b":[1,"\\u003c"]}}'],
    ['application/x-www-form-urlencoded', '{"a":"b c"}'],
    ['application/json', '{"a":"\\u003c"}'],
  ] as const) {
    const text = `{"params":${JSON.stringify({ method: 'PUT', path: `${device}/sync-to`, accept, contentType })},"body":${body}}`;
    const put = (headers = {}) => send('ann', 'POST', '/orchestrator_manager/restRequest/Local%20NSO', text, headers);
    const id = needed(await put());
    const shown = (await read('lea', id)).call?.body;
    await grant('lea', id);
    assert.equal((await put({ Approval: id })).status, 200);
    assert.equal(shown, far.requests.at(-1)?.body.toString());
  }
});

test('a grant does not outlive a stricter rule, and an approval that no rule asks for any more is used up all the same', async (t) => {
  const { far, gateway, options, act, needed, grant } = await started(t);
  const first = needed(await act('ann', `${device}/sync-to`, '{"a":1}'));
  const second = needed(await act('ann', `${device}/sync-to`, '{"a":2}'));
  await grant('lea', first);
  await grant('lea', second);
  const [rule, ...others] = approvals;
  const withRules = (rules: readonly object[]) => ({ ...options, config: { ...options.config, approvals: rules } });
  await reloadWith(gateway, withRules([{ ...rule, count: 2 }, ...others]));
  const stricter = needed(await act('ann', `${device}/sync-to`, '{"a":1}', { Approval: first }));
  assert.notEqual(stricter, first);
  assert.equal(far.requests.length, 0);
  await reloadWith(gateway, withRules(others));
  assert.equal((await act('ann', `${device}/sync-to`, '{"a":2}', { Approval: second })).status, 200);
  assertProblem(await act('ann', `${device}/sync-to`, '{"a":2}', { Approval: second }), 409, 'approval-used');
  assert.equal(far.requests.length, 1);
});

test('an approval warns where no known person could grant it, and an issuer’s person is known from the first token on', async (t) => {
  const provider = await identityProvider(t);
  const { options } = await stage(t);
  const config = {
    ...options.config,
    access: { oidc: [{ issuer: provider.issuer, audience }] },
    approvals: [{ name: 'core', when: { routes: ['restAction'] }, approvers: { groups: ['change'] } }],
  };
  const gateway = await startGateway(t, { ...options, config });
  const caller = approvalCaller(() => gateway);
  const { read } = caller;
  const id = caller.needed(await actingAs(caller)('ann', `${device}/sync-to`, '{}'));
  assert.match((await read('ann', id)).warnings?.join() ?? '', /^No known person could grant for the rule core \(change\)/u);
  const token = await provider.token({ sub: '1', roles: ['readonly'], groups: ['change'] });
  assert.equal((await gateway.send({ target: '/whoami', headers: { Authorization: `Bearer ${token}` } })).status, 200);
  assert.deepEqual((await read('ann', id)).warnings ?? [], []);
});
