// suite: waiting

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startDemoOrchestrator } from '../demo/demo-orchestrator.ts';
import type { AuditRecord } from '../src/audit/audit-reader.ts';
import { approvalCaller, people } from './support/approvals/approval-caller.ts';
import { assertProblem, relay } from './support/callers/calls.ts';
import { type Gateway, startGateway } from './support/gateway/start-gateway.ts';
import { suiteOwner } from './support/owner.ts';
import { runCaller } from './support/runs/run-caller.ts';
import { eachStore, storeUrl } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { NsoNode } from './support/upstreams/nso-node.ts';
import { paramsOf } from './support/upstreams/person-nso.ts';
import { jsonReply } from './support/upstreams/upstream.ts';

// The records of NSO itself name the person: label and comment of each commit (docs/reference/configuration.md#stamps).

const older = await startDemoOrchestrator();
const newer = await startDemoOrchestrator({ release: '6.7' });
after(() => Promise.all([older.close(), newer.close()]));
const former = await NsoNode.start({ after }, 'rfc8525');
const recent = await NsoNode.start({ after }, '6.7');
const auth = { type: 'basic', username: 'admin', password: 'admin' };
const common = { kind: 'nso', stamp: true };
let gateway: Gateway;
const accept = 'application/yang-data+json';
const path = 'restconf/data/tailf-ncs:devices/device=ce0/description';
const { send, needed, grant, read } = approvalCaller(() => gateway);

interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly body?: object;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

let changes = 0;

async function change(adapter: string, { method = 'PUT', headers = {}, ...asked }: Asked = {}) {
  changes += 1;
  const id = `change-${changes}`;
  const { contentType } = asked;
  const params = { path: asked.path ?? path, accept, method, ...(contentType !== undefined && { contentType }) };
  const body = asked.body ?? { 'tailf-ncs:description': id };
  const sent = await relay(gateway, 'restRequest', adapter, method === 'DELETE' ? { params } : { params, body }, {
    headers: { 'X-Request-Id': id, ...headers },
  });
  return { reply: sent, id };
}

async function recordOf(id: string): Promise<AuditRecord> {
  return await until(`the record of ${id} is there`, async () => {
    const page = (await gateway.send({ role: 'admin', target: '/audit?limit=200' })).json() as {
      readonly list: readonly AuditRecord[];
    };
    return page.list.find((record) => record.requestId === id && record.verb !== undefined);
  });
}

async function newestFile(adapter: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  const files = 'restconf/data/tailf-rollback:rollback-files/file';
  const reply = await relay(gateway, 'restRequest', adapter, { params: { path: files, accept, method: 'GET' } });
  const { body } = reply.json() as { readonly body: string };
  const list = JSON.parse(body) as Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
  return list['tailf-rollback:file']?.[0];
}

eachStore((store) => {
  const owner = suiteOwner();
  before(async () => {
    const url = storeUrl(await store.empty(owner));
    gateway = await startGateway(owner, {
      users: [...people],
      adapters: [
        { ...common, name: 'older', url: older.url, auth },
        { ...common, name: 'newer', url: newer.url, auth },
        { ...common, name: 'former', url: former.far.url, auth },
        { ...common, name: 'recent', url: recent.far.url, auth },
        { ...common, name: 'plain', url: older.url, auth, stamp: false },
      ],
      config: {
        store: { url },
        approvals: [{ name: 'asked', when: { paths: ['**/asked'] }, approvers: { groups: ['noc-leads'] } }],
      },
    });
    former.serve();
    recent.serve();
  });

  for (const adapter of ['older', 'newer'])
    test(`a rollback file of the orchestrator ${adapter} names the person and the record of the change`, async () => {
      const { reply, id } = await change(adapter);
      assert.ok(reply.status < 300, reply.text);
      const record = await recordOf(id);
      const stamp = { label: `og-${record.id.replace('/', '_')}`, comment: 'admin-user (admin-user) via http' };
      assert.deepEqual(record.stamp, stamp);
      assert.equal(record.address, path, 'the record has the call without it');
      const file = await newestFile(adapter);
      assert.deepEqual([file?.['label'], file?.['comment']], [stamp.label, stamp.comment]);
      const found = await gateway.send({ role: 'admin', target: `/audit?id=${stamp.label.slice(3)}` });
      assert.match(found.text, new RegExp(`"requestId":"${id}"`, 'u'), 'the label leads to the record');
    });

  test('a comment of the caller follows the stamp, and a label of the caller stays', async () => {
    const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64');
    const stamp = 'admin-user (admin-user) via http';
    for (const [adapter, asked] of [
      ['older', { path: `${path}?rollback-comment=CHG%204711&rollback-label=mine` }],
      ['newer', { path: `${path}?params=${encodeURIComponent(base64({ comment: 'CHG 4711', label: 'mine' }))}` }],
      ['newer', { headers: { 'X-Cisco-NSO-Commit-Params': base64({ comment: 'CHG 4711', label: 'mine' }) } }],
    ] as const) {
      const { reply, id } = await change(adapter, asked);
      assert.ok(reply.status < 300, reply.text);
      const file = await newestFile(adapter);
      assert.deepEqual([file?.['label'], file?.['comment']], ['mine', `${stamp}: CHG 4711`]);
      assert.deepEqual((await recordOf(id)).stamp, { comment: stamp });
    }
  });

  test('a label that begins as those of the gateway is 400, in each place and spelling', async () => {
    const before = [former.calls.length, recent.calls.length];
    const params = Buffer.from('{"label":"og-1"}').toString('base64');
    for (const adapter of ['former', 'recent'])
      for (const asked of [
        { path: `${path}?rollback-label=og-1` },
        { path: `${path}?label=%6fg-1` },
        { path: `${path}?x=1;LABEL=OG-1` },
        { path: `${path}?params=${encodeURIComponent(params)}` },
        { headers: { 'X-Cisco-NSO-Commit-Params': params } },
        { headers: { 'X-Cisco-NSO-Commit-Params': 'no base64' } },
        { path: `${path}?params=${encodeURIComponent(Buffer.from('{"comment":["x"]}').toString('base64'))}` },
      ])
        assertProblem((await change(adapter, asked)).reply, 400, 'invalid-request');
    assert.deepEqual([former.calls.length, recent.calls.length], before);
  });

  test('a label of another record is 400 on requests that get no stamp too, in headers, query and body', async () => {
    const params = Buffer.from('{"rollback-label":"og-1"}').toString('base64');
    const action = { method: 'POST', path: 'restconf/data/tailf-ncs:devices/device=ce0/re-deploy' };
    const long = { input: { pad: 'x'.repeat(1_100_000), label: 'og-1' } };
    for (const [node, adapter] of [
      [former, 'former'],
      [recent, 'recent'],
    ] as const) {
      node.serve();
      for (const asked of [
        { ...action, path: `${action.path}?label=og-1`, body: {} },
        { ...action, path: `${action.path}?%6c%61bel=%6fg-%zz`, body: {} },
        { ...action, path: `${action.path}?Rollback-Label=+og-1`, body: {} },
        { ...action, path: `${action.path}?params=${encodeURIComponent(params)}`, body: {} },
        { ...action, headers: { 'X-Cisco-NSO-Commit-Params': params }, body: {} },
        { ...action, body: { input: { label: 'og-1' } } },
        { ...action, body: { 'tailf-ncs:input': { 'commit-params': { 'tailf-ncs:label': ['OG-1'] } } } },
        { ...action, body: long },
        { ...action, path: 'restconf/operations/x:y', body: { input: { label: 'og-1' } } },
        { method: 'PUT', path: 'api/running/devices/device/ce0?label=og-1' },
        { ...action, contentType: 'application/yang-data+xml', body: { input: { label: 'og-1' } } },
        { ...action, contentType: 'application/yang-data+xml', body: { input: { 'commit-params': { label: ' OG-1' } } } },
      ]) {
        const { reply } = await change(adapter, asked);
        assertProblem(reply, 400, 'invalid-request');
        assert.match(reply.text, /begins with og-/u, JSON.stringify(asked).slice(0, 200));
      }
      assert.equal(node.calls.length, 0);
      for (const asked of [
        { ...action, body: { input: { label: 'mine' } } },
        { method: 'PUT', body: { 'x:label': 'og-1' } },
      ]) {
        const { reply } = await change(adapter, asked);
        assert.ok(reply.status < 300, reply.text);
      }
    }
    const { reply } = await change('plain', { path: `${path}?rollback-label=og-1` });
    assert.ok(reply.status < 300, 'an adapter instance without stamps has no labels of its own');
  });

  test('a change has its stamp in every spelling of its path, in each datastore, and with a long body', async () => {
    const child = { 'tailf-ncs:device': [{ name: 'x' }] };
    const long = { 'tailf-ncs:device': [{ name: 'x', description: 'x'.repeat(1_100_000) }] };
    for (const [node, adapter] of [
      [former, 'former'],
      [recent, 'recent'],
    ] as const) {
      node.serve();
      const asked = [
        { method: 'POST', path: 'restconf/data/tailf-ncs:devices/', body: child },
        { method: 'POST', path: 'restconf//data/tailf-ncs:devices', body: child },
        { method: 'POST', path: 'restconf/./data/tailf-ncs:devices', body: child },
        { method: 'POST', path: 'restconf/d%61ta/tailf-ncs%3Adevices', body: child },
        { method: 'POST', path: 'restconf%2Fdata/tailf-ncs:devices', body: child },
        { method: 'POST', path: 'restconf/data/tailf-ncs:devices', body: long },
        { method: 'POST', path: 'restconf/data/tailf-ncs:devices/device=a%2Fsync-to', body: { 'a:b': 1 } },
        { method: 'POST', path: 'restconf/ds/ietf-datastores:running/tailf-ncs:devices', body: child },
        { method: 'PUT', path: 'restconf/ds/ietf-datastores:running/tailf-ncs:devices/device=ce0' },
        {
          method: 'POST',
          path: 'restconf/data/tailf-ncs:devices',
          contentType: 'application/yang-data+xml',
          body: { device: { name: 'x', description: '&'.repeat(300_000) } },
        },
      ];
      for (const one of asked) {
        const { id, reply } = await change(adapter, one);
        assert.ok(reply.status < 300, `${one.path}: ${reply.text}`);
        assert.match((await recordOf(id)).stamp?.label ?? '', /^og-/u, one.path);
      }
      const unstamped = node.calls.filter(({ target }) => !/label=og-/u.test(target) && !paramsOf(target).includes('"og-'));
      assert.deepEqual(
        unstamped.map(({ target }) => target),
        [],
      );
      assert.equal(node.calls.length, asked.length);
    }
  });

  test('a call with two comments is 400, since NSO could show the one without the stamp', async () => {
    const before = [former.calls.length, recent.calls.length];
    const forged = 'admin-user%20(eve)%20via%20http';
    const params = Buffer.from('{"comment":"admin-user (eve) via http"}').toString('base64');
    for (const adapter of ['former', 'recent'])
      for (const asked of [
        { path: `${path}?comment=x&rollback-comment=${forged}` },
        { path: `${path}?comment=x&comment=${forged}` },
        { path: `${path}?comment=x&params=${encodeURIComponent(params)}` },
        { path: `${path}?comment=x`, headers: { 'X-Cisco-NSO-Commit-Params': params } },
        { path: `${path}?depth=1;comment=${forged}` },
        { path: `${path}?%zz=1&comment=${forged}` },
      ])
        assertProblem((await change(adapter, asked)).reply, 400, 'invalid-request');
    assert.deepEqual([former.calls.length, recent.calls.length], before);
  });

  test('actions, queries, dry runs for previews and calls of the legacy API leave without a stamp, and every byte of a change stays', async () => {
    for (const [node, adapter] of [
      [former, 'former'],
      [recent, 'recent'],
    ] as const) {
      node.answer = () => jsonReply('{}', { type: accept });
      node.serve();
      for (const asked of [
        { method: 'POST', path: 'restconf/data/tailf-ncs:devices/device=ce0/sync-to', body: {} },
        { method: 'POST', path: 'restconf/operations/x:y', body: { 'x:input': {} } },
        { method: 'POST', path: 'restconf/data/x:y/act', body: {} },
        { method: 'PUT', path: 'api/running/devices/device/ce0', body: {} },
      ])
        await change(adapter, asked);
      await relay(gateway, 'restQuery', adapter, { params: { path, accept } });
      assert.ok(node.far.requests.every(({ target }) => !/label|comment|params/u.test(target)));
      node.serve();
      await change(adapter, {
        method: 'POST',
        path: 'restconf/data/tailf-ncs:devices',
        body: { 'tailf-ncs:device': [{ name: 'x' }] },
      });
      await change(adapter, { method: 'DELETE' });
      await change(adapter, { method: 'PATCH', path: 'restconf/data' });
      const targets = node.calls.map(({ target }) => target);
      assert.equal(targets.length, 3);
      for (const target of targets)
        if (adapter === 'former')
          assert.match(target, /\?rollback-label=og-[\w-]+&rollback-comment=admin-user%20\(admin-user\)%20via%20http$/u);
        else assert.match(paramsOf(target), /^\{"label":"og-[\w-]+","comment":"admin-user \(admin-user\) via http"\}$/u);
      assert.equal(node.calls[0]?.body.toString(), '{"tailf-ncs:device":[{"name":"x"}]}');
    }
  });

  test('a node whose YANG library does not say how it takes a stamp gets no change', async (t) => {
    t.after(() => void (former.library = 'rfc8525'));
    // A failure makes the gateway ask the node again.
    former.answer = (_request, socket) => void socket.destroy();
    former.serve();
    await change('former');
    former.library = 'other';
    const { length } = former.calls;
    for (let round = 0; round < 2; round += 1) {
      const { detail } = assertProblem((await change('former')).reply, 503, 'adapter-unavailable');
      assert.match(detail, /stamps its commits, and .* does not prove that it is NSO.* The call was not executed/u);
    }
    assert.equal(former.calls.length, length);
    former.answer = () => jsonReply('{}', { type: accept });
  });

  test('an approval has the call without the stamp and says that one is added, and the comment names the approval', async () => {
    const asked = 'restconf/data/tailf-ncs:devices/device=ce0/asked';
    const body = { params: { path: asked, accept, method: 'PUT' }, body: { 'a:asked': 1 } };
    recent.serve();
    for (const [adapter, stamped] of [
      ['recent', true],
      ['plain', undefined],
    ] as const) {
      const target = `/orchestrator_manager/restRequest/${adapter}`;
      const id = needed(await send('ann', 'POST', target, body));
      const approval = await read('lea', id);
      assert.equal((approval.call as { readonly stamped?: boolean } | undefined)?.stamped, stamped);
      assert.equal(approval.call?.path, asked);
      await grant('lea', id);
      await send('ann', 'POST', target, body, { Approval: id });
      if (stamped !== true) continue;
      const sent = await until('the call left', () => recent.calls.find((call) => paramsOf(call.target).includes('"label"')));
      assert.match(paramsOf(sent.target), new RegExp(`"comment":"ann \\(ann\\) via approval ${id}"`, 'u'));
    }
  });

  test('a repeated Idempotency-Key is one change with one stamp', async () => {
    recent.serve();
    const headers = { 'Idempotency-Key': 'once' };
    for (let round = 0; round < 2; round += 1) await change('recent', { headers, body: { 'a:b': 1 } });
    assert.equal(recent.calls.length, 1);
  });

  test('who decides about an unknown outcome learns whether NSO has a rollback file with the label of that call', async () => {
    const caller = runCaller(() => gateway, gateway.basicFor('admin'));
    const task = {
      change: {
        call: 'orchestratorRequest',
        with: { adapter: 'recent', params: { method: 'PATCH', path, accept }, body: { 'a:b': 1 } },
      },
    };
    let label = '';
    recent.answer = ({ target }, socket) => {
      label = /"label":"([^"]+)"/u.exec(paramsOf(target))?.[1] ?? '';
      socket.destroy();
    };
    recent.serve();
    const { id } = await caller.start(await caller.automation('stamped', [task]));
    await caller.reaches(id, 'suspended');
    const sent = recent.calls.find(({ target }) => paramsOf(target).includes('"label"'));
    assert.match(paramsOf(sent?.target ?? ''), new RegExp(`via run ${id}"`, 'u'));
    assert.match(label, /^og-/u);
    recent.answer = () => jsonReply('{"dry-run-result":{"native":{}}}', { type: accept });
    const preview = async () =>
      ((await caller.change(id, 'tasks/1/preview')).json() as { readonly kind: string; readonly rollback?: object }).rollback;
    for (const [files, found, said] of [
      [
        `[{"id":0,"label":"other"},{"id":1,"label":"${label}","date":"2026-11-26 20:00:00"}]`,
        true,
        /has a rollback file with the label og-\S+ of 2026-11-26 20:00:00: the call was made/u,
      ],
      ['[]', undefined, /not known: NSO shows no rollback file at all/u],
      ['[{"id":0,"label":"other"}]', false, /has no rollback file with the label og-\S+: the call changed nothing, or/u],
      ['1}', undefined, /not known: NSO answered something else/u],
    ] as const) {
      recent.files = files;
      const rollback = (await preview()) as
        | { readonly label: string; readonly found?: boolean; readonly explanation: string }
        | undefined;
      assert.deepEqual([rollback?.label, rollback?.found], [label, found]);
      assert.match(rollback?.explanation ?? '', said);
    }
  });
});
