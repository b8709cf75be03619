import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startDemoOrchestrator } from '../demo/demo-orchestrator.ts';
import type { AuditRecord } from '../src/audit/audit-reader.ts';
import { basic, startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { stagePeople, usersOf } from './support/runs/run-people-stage.ts';
import { eachStore, sqliteStore, storeUrl, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { yang } from './support/upstreams/nso-node.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// Who changed which device, when, and what for.

async function stage(t: TestContext, store: TestStore) {
  const far = await upstream(t, () => jsonReply('{}'));
  const demo = await startDemoOrchestrator();
  t.after(() => demo.close());
  const gateway = await startGateway(t, {
    config: {
      store: { url: storeUrl(await store.fresh(t)) },
      approvals: [{ name: 'all', when: { adapters: ['demo'] }, approvers: { roles: ['admin'] } }],
    },
    adapters: [
      { name: 'Far', kind: 'rest', url: far.url },
      { name: 'demo', kind: 'nso', url: demo.url, auth: { type: 'basic', username: 'admin', password: 'admin' } },
    ],
    users: usersOf(stagePeople),
  });
  const send = (user: string, method: string, target: string, body?: object, headers = {}) =>
    gateway.send({
      method,
      target,
      headers: { authorization: basic(user, testPassword), 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const change = (path: string, user = 'ann', body: object = {}) =>
    send(user, 'POST', '/orchestrator_manager/restRequest/Far', {
      params: { path, method: 'PATCH', accept: 'application/json' },
      body,
    });
  const listed = async (filter: Readonly<Record<string, string>>): Promise<readonly AuditRecord[]> => {
    const reply = await send('ann', 'GET', `/audit?${new URLSearchParams(filter).toString()}`);
    assert.equal(reply.status, 200, reply.text);
    return (reply.json() as { readonly list: readonly AuditRecord[] }).list;
  };
  return { gateway, send, change, listed };
}

eachStore((store) => {
  test('a change is found by each of its devices as they are written in the path, and a query is no change', async (t) => {
    const { send, change, listed } = await stage(t, store);
    const names = ['ce0', 'pe 7', 'a/b', '%', "x'y", '"quoted"', 'ü\u{1F600}', '_', 'a%41', 'é'.repeat(300)];
    for (const name of names) {
      const path = `tailf-ncs:devices/device=${encodeURIComponent(name)},x/config/interface=Gi0%2F0?dry=device=no`;
      assert.equal((await change(path)).status, 200);
    }
    await send('ann', 'POST', '/orchestrator_manager/restQuery/Far', {
      params: { path: 'devices/device=ce0', accept: 'application/json' },
    });
    for (const name of names) {
      const kept = name.slice(0, 255);
      const list = await listed({ device: name });
      if (name !== kept) continue;
      assert.deepEqual(
        list.map(({ devices }) => devices),
        [[name]],
        name,
      );
    }
    assert.deepEqual(await listed({ device: 'no' }), []);
    assert.deepEqual(await listed({ device: 'ce' }), []);
    await change(`devices/${Array.from({ length: 150 }, (_, index) => `device=d${index}`).join('/')}`);
    assert.equal((await listed({ device: 'd99' }))[0]?.devices?.length, 100);
    assert.deepEqual(await listed({ device: 'd100' }), []);
  });

  test('a search takes each character for itself, and looks into address, objects, devices, principal and detail alone', async (t) => {
    const { send, change, listed } = await stage(t, store);
    await send('ann', 'PUT', '/automation_catalog/forms/port%25s', { type: 'object', properties: { a: { type: 'string' } } });
    await change('a_b/device=x%25y');
    await send('otto', 'GET', '/audit');
    const found = async (search: string): Promise<number> =>
      (await listed({ search })).filter(({ route }) => route !== 'GET /audit').length;
    assert.equal(await found('a_b'), 1);
    assert.equal(await found('a%b'), 0);
    assert.equal(await found('axb'), 0);
    assert.equal(await found('x%25y'), 1);
    assert.equal(await found('127.0.0.1'), 0);
    assert.equal(await found('decision'), 0);
    for (const nasty of ["'; drop table audit_entry; --", '\\', '"', '%', '_', '*', '\u0000x', '\u{1F600}', '${x}'])
      assert.equal((await send('ann', 'GET', `/audit?search=${encodeURIComponent(nasty)}`)).status, 200, nasty);
    await until('the refusal is on record', async () => (await listed({ search: 'ott', outcome: 'refused' })).length > 0);
    const [refused] = await listed({ principal: 'otto', outcome: 'refused' });
    const detail = refused?.detail ?? '';
    assert.ok(detail.length > 10);
    assert.deepEqual(
      (await listed({ search: detail.slice(3, 12), principal: 'otto' })).map(({ id }) => id),
      [refused?.id],
    );
    const long = await send('ann', 'GET', `/audit?search=${'x'.repeat(1_000_000)}`).catch(() => undefined);
    assert.ok(long === undefined || long.status >= 400);
    assert.equal((await send('ann', 'GET', `/audit?search=${'x'.repeat(4_000)}`)).status, 200);
  });

  test('a cursor goes on by its place with other filters too, and finds nothing twice', async (t) => {
    const { send, change, listed } = await stage(t, store);
    for (let index = 0; index < 6; index += 1) await change(`devices/device=d${index % 2}/x`, index < 3 ? 'ann' : 'bob');
    const page = (await send('ann', 'GET', '/audit?device=d0&limit=1')).json() as {
      readonly list: readonly AuditRecord[];
      readonly cursor: string;
    };
    const next = await listed({ device: 'd0', cursor: page.cursor });
    assert.equal(next.length, 2);
    assert.ok(next.every(({ id }) => id !== page.list[0]?.id));
    const others = await listed({ principal: 'ann', device: 'd1', cursor: page.cursor });
    assert.deepEqual(
      others.map(({ principal, devices }) => [principal, devices]),
      [['ann', ['d1']]],
    );
    assert.equal((await send('ann', 'GET', '/audit?device=d0&cursor=x')).status, 400);
  });

  test('a day of from and to counts in the time zone, and the day of to is included', async (t) => {
    const { send, change, listed } = await stage(t, store);
    await change('devices/device=ce0/x');
    const [record] = await listed({ device: 'ce0' });
    const at = Temporal.Instant.from(record?.time ?? '');
    for (const timeZone of ['UTC', 'Asia/Kolkata', 'Pacific/Kiritimati', 'America/New_York']) {
      const day = at.toZonedDateTimeISO(timeZone).toPlainDate();
      const count = async (from: Temporal.PlainDate, to: Temporal.PlainDate): Promise<number> =>
        (await listed({ device: 'ce0', from: String(from), to: String(to), timeZone })).length;
      assert.equal(await count(day, day), 1, timeZone);
      assert.equal(await count(day.add({ days: 1 }), day.add({ days: 9 })), 0, timeZone);
      assert.equal(await count(day.subtract({ days: 9 }), day.subtract({ days: 1 })), 0, timeZone);
    }
    assert.equal((await listed({ device: 'ce0', from: record?.time ?? '', to: record?.time ?? '' })).length, 1);
    for (const query of [
      'from=2026-02-30',
      'from=2026-1-1',
      'to=tomorrow',
      'timeZone=%2B02:00',
      'timeZone=Mars',
      'from=2026-01-01T00',
    ])
      assert.equal((await send('ann', 'GET', `/audit?${query}`)).status, 400, query);
  });
});

test('the record of an approved change names the devices of its preview, and those who decided are found by them', async (t) => {
  const { send, listed } = await stage(t, sqliteStore);
  const params = { method: 'PATCH', path: 'restconf/data/tailf-ncs:devices', accept: yang };
  const hostname = (name: string) => ({ name, config: { 'tailf-ned-cisco-ios:hostname': `${name}-new` } });
  const body = { params, body: { 'tailf-ncs:devices': { device: [hostname('ce0'), hostname('ce1')] } } };
  const target = '/orchestrator_manager/restRequest/demo';
  const asked = (await send('ann', 'POST', target, body)).json() as { readonly approval: { readonly id: string } };
  const { id } = asked.approval;
  await until('the preview is there', async () => {
    const approval = (await send('bob', 'GET', `/approvals/${id}`)).json() as { readonly preview?: { readonly kind: string } };
    return approval.preview !== undefined;
  });
  assert.equal((await send('bob', 'POST', `/approvals/${id}/grant`, { reason: 'agreed' })).status, 200);
  const reply = await send('ann', 'POST', target, body, { Approval: id });
  assert.ok((reply.status ?? 0) < 300, reply.text);
  const [record] = await listed({ device: 'ce1' });
  assert.deepEqual([record?.principal, record?.approval?._id, record?.devices], ['ann', id, ['ce0', 'ce1']]);
  assert.ok((await listed({ object: id })).some(({ principal, reason }) => principal === 'bob' && reason === 'agreed'));
});
