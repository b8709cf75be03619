import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approvalCaller, people } from './support/approvals/approval-caller.ts';
import { steppingClock } from './support/faults/stepping-clock.ts';
import { runCommandLine } from './support/gateway/run-command-line.ts';
import { startGatewayProcess, testPassword } from './support/gateway/start-gateway.ts';
import { runCaller } from './support/runs/run-caller.ts';
import { eachStoreWith, storeUrl } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// The auditor asks in March: who changed router R7 in a night of January, why, who approved, what exactly was sent?

interface SeenRecord {
  readonly id: string;
  readonly time: string;
  readonly route: string;
  readonly principal: string;
  readonly outcome?: string;
  readonly reason?: string;
  readonly via?: { readonly run: string };
  readonly approval?: { readonly _id: string; readonly name: string };
}

const at = (time: string): number => Date.parse(time) - Date.now();

eachStoreWith({ concurrency: 1 }, (store) => {
  test('two commands tell who changed a router in a night, why, who approved it, and what exactly was sent', async (t) => {
    const far = await upstream(t, () => jsonReply('{}'));
    const clock = steppingClock(t);
    clock.stepTo(at('2026-01-11T23:50:00Z'));
    const gateway = await startGatewayProcess(t, {
      users: [...people, { ...people[4], username: 'audrey', roles: ['auditor'] }],
      config: {
        store: { url: storeUrl(await store.empty(t)) },
        access: { roles: [{ name: 'auditor', allows: [{ routes: ['listAudit', 'readAuditBody'] }] }] },
        approvals: [
          { name: 'night', when: { paths: ['**/device=*/**'], roles: ['other'] }, approvers: { groups: ['noc-leads'] } },
        ],
      },
      adapters: [{ name: 'NSO', kind: 'rest', url: far.url }],
      environment: clock.environment,
    });
    const runs = runCaller(() => gateway, gateway.basicFor('admin'));
    const approvals = approvalCaller(() => gateway);
    const body = { interface: 'Gi0/0', shutdown: true, 'snmp-community': 'public' };
    const params = { path: 'devices/device=R7/config', accept: 'application/json' };
    const automation = await runs.automation('night', [
      { act: { call: 'orchestratorAction', with: { adapter: 'NSO', params, body } } },
    ]);
    const change = async (time: string, reason: string): Promise<string> => {
      clock.stepTo(at(time));
      const { id } = await runs.start(automation);
      await until('people are asked', async () =>
        (await approvals.list('ann')).some(({ run, status }) => run === id && status === 'waiting'),
      );
      const asked = (await approvals.list('ann')).find(({ run }) => run === id);
      assert.equal((await approvals.decide('lea', asked?.id ?? '', 'grant', reason)).status, 200);
      await runs.reaches(id, 'completed');
      return id;
    };
    await change('2026-01-12T00:10:00Z', 'too early');
    const run = await change('2026-01-12T02:15:00Z', 'CHG-1234: the port flaps');
    await change('2026-01-12T04:30:00Z', 'too late');

    const env = { GATEWAY_URL: gateway.url, GATEWAY_USER: 'audrey', GATEWAY_PASSWORD: testPassword };
    const type = async (...argv: readonly string[]): Promise<string> => {
      const { code, out, err } = await runCommandLine(t, argv, { env });
      assert.equal(code, 0, err);
      return out;
    };
    const night = ['--from', '2026-01-12T02:00:00+01:00', '--to', '2026-01-12T04:00:00+01:00'];
    const list = async (): Promise<readonly SeenRecord[]> =>
      (await type('audit', 'list', '--device', 'R7', ...night))
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as SeenRecord);
    await until('the grant is on record', async () => (await list()).some(({ reason }) => reason !== undefined));
    const found = await list();
    const sent = found.find(({ via, outcome }) => via !== undefined && outcome === 'ok');
    assert.deepEqual([sent?.principal, sent?.via?.run], ['admin-user', run]);
    const grants = found.filter(({ reason }) => reason !== undefined);
    assert.deepEqual(
      grants.map(({ principal, reason, approval }) => [principal, reason, approval?._id]),
      [['lea', 'CHG-1234: the port flaps', sent?.approval?._id]],
    );
    assert.ok(found.every(({ time }) => time.startsWith('2026-01-12T02:15')));
    const shown = await type('audit', 'show', sent?.id ?? '');
    assert.match(shown, /^principal +admin-user$/mu);
    assert.match(shown, /^time +2026-01-12T02:15:/mu);
    assert.match(shown, /\n\n\{"interface":"Gi0\/0","shutdown":true,"snmp-community":"\*\*\*"\}\n$/u);
    assert.equal(far.requests.filter(({ body: bytes }) => bytes.toString() === JSON.stringify(body)).length, 3);
  });
});
