import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, describe, test } from 'node:test';
import { readDemoAutomations } from '../demo/demo-automations.ts';
import { startDemoOrchestrator } from '../demo/demo-orchestrator.ts';
import { createExpressionPool } from '../src/workflows/jq/expression-pool.ts';
import { readWorkflow } from '../src/workflows/read-workflow.ts';
import { type Person, people } from './support/approvals/approval-caller.ts';
import { runCommandLine } from './support/gateway/run-command-line.ts';
import { startGateway, testPassword } from './support/gateway/start-gateway.ts';
import type { Owner } from './support/owner.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// The commands of runs against a gateway, and the automations of the demo (docs/reference/command-line.md, demo/workflows/).

const owner: Owner = { after };
const orchestrator = await startDemoOrchestrator();
after(() => orchestrator.close());
const far = await upstream(owner);
const gateway = await startGateway(owner, {
  users: [...people],
  config: {
    outbound: { allow: [far.authority] },
    approvals: [
      {
        name: 'device-changes',
        when: { methods: ['PUT'], paths: ['**/devices/**', '**/tailf-ncs:devices/**'] },
        approvers: { groups: ['noc-leads'] },
      },
    ],
  },
  adapters: [
    {
      name: 'Local NSO',
      kind: 'nso',
      url: orchestrator.url,
      auth: { type: 'basic', username: 'admin', password: { env: 'ORCHESTRATOR_PASSWORD' } },
    },
  ],
  environment: { ORCHESTRATOR_PASSWORD: 'admin' },
});
const demo = await readDemoAutomations();

async function posted<T>(path: string, body: string, type = 'application/json'): Promise<T> {
  const reply = await gateway.send({ role: 'admin', method: 'POST', target: path, headers: { 'Content-Type': type }, body });
  assert.equal(reply.status, 201, reply.text);
  return reply.json() as T;
}

/** Stores a workflow, and an automation that runs it. */
async function stored(name: string, workflow: string, data: object, inner: readonly string[] = []): Promise<void> {
  for (const document of [...inner, workflow]) await posted('/automation_catalog/workflows', document, 'application/yaml');
  await posted('/automation_catalog/automations', JSON.stringify({ name, data }));
}

interface TypedOptions {
  readonly role?: string;
  /** A user in place of the one with the role. */
  readonly as?: Person;
  readonly files?: Readonly<Record<string, string>>;
}

function typed(t: Owner, argv: readonly string[], { role = 'admin', as, files }: TypedOptions = {}) {
  const env = { GATEWAY_URL: gateway.url, GATEWAY_USER: as ?? `${role}-user`, GATEWAY_PASSWORD: testPassword };
  return runCommandLine(t, argv, { env, ...(files && { files }) });
}

/** The JSON that the command printed after the timeline. */
function outputIn(printed: string): unknown {
  return JSON.parse(printed.slice(printed.indexOf('\n{') + 1));
}

describe('an automation of the demo', () => {
  test('has a workflow without problems and warnings', async () => {
    const expressions = createExpressionPool({ threads: 1 });
    try {
      for (const { name, workflow, data } of demo) {
        const read = await readWorkflow({ text: workflow, known: { adapters: ['Local NSO'] }, expressions });
        assert.deepEqual(read.warnings, [], name);
        assert.ok('workflow' in read, `${name}: ${JSON.stringify(read)}`);
        assert.equal(read.workflow.id, data.workflowId);
      }
    } finally {
      await expressions.close();
    }
  });

  test('runs to its end: the VPN is there, and the nightly check names the devices that are not in sync', async (t) => {
    for (const { name, workflow, data, inner } of demo) await stored(name, workflow, data, inner);
    const nightly = await typed(t, ['run', 'Nightly check-sync', '--follow']);
    assert.equal(nightly.code, 0, nightly.out + nightly.err);
    assert.equal(nightly.out.match(/completed {2}checkBatches/gu)?.length, 1, nightly.out);
    const shown = await typed(t, ['runs', 'show', 'Nightly check-sync']);
    assert.match(shown.out, /^items {7}5 of 5 completed$/mu);
    const report = outputIn(nightly.out) as {
      readonly notChecked: readonly { readonly device: string; readonly result: string }[];
    };
    assert.deepEqual(
      { ...report, notChecked: report.notChecked.map(({ device, result }) => `${device} ${result}`) },
      {
        checked: 50,
        inSync: 42,
        outOfSync: ['ce22', 'pe12', 'ex11'],
        notChecked: ['ce20 locked', 'ce21 locked', 'ce23 error', 'pe11 locked', 'pe13 error'],
      },
    );
    const vpn = await typed(t, ['run', 'Bring up a VPN', '--follow']);
    assert.equal(vpn.code, 0, vpn.out + vpn.err);
    assert.deepEqual(outputIn(vpn.out), { vpn: 'acme', configured: ['ce6', 'ce22', 'pe2'] });
    // Only the device that was out of sync was synchronised.
    assert.deepEqual(vpn.out.match(/syncFrom\[\d\]/gu), ['syncFrom[1]']);
    const again = await typed(t, ['run', 'Nightly check-sync', '--follow']);
    assert.deepEqual((outputIn(again.out) as { readonly outOfSync: unknown }).outOfSync, ['pe12', 'ex11']);
  });

  test('changes a device once a person has approved the exact call, which the commands of approvals show', async (t) => {
    const running = typed(t, ['run', 'Rename a device', '--follow']);
    const listed = async (): Promise<string> => (await typed(t, ['approvals', 'list'], { as: 'lea' })).out;
    await until('the run waits for lea', async () => (await listed()).includes('device-changes'));
    const { id } = JSON.parse(await listed()) as { readonly id: string };
    await until('the preview is there', async () =>
      (await typed(t, ['approvals', 'show', id], { as: 'lea' })).out.includes('would do'),
    );
    const shown = await typed(t, ['approvals', 'show', id], { as: 'lea' });
    assert.match(
      shown.out,
      /^PUT restconf\/data\/tailf-ncs:devices\/device=ce0\/config\/tailf-ned-cisco-ios:hostname {2}at Local NSO$/mu,
    );
    assert.match(shown.out, /^\{"tailf-ned-cisco-ios:hostname":"oslo-edge-1"\}\n\nWhat .*:\nhostname oslo-edge-1\n\n/mu);
    assert.match(shown.out, /^rule device-changes: 0 of 1 granted \(noc-leads\)$/mu);
    const own = await typed(t, ['approvals', 'grant', id, '--reason', 'mine']);
    assert.deepEqual([own.code, own.err.includes('You asked for this call yourself')], [1, true], own.err);
    const [, grant = ''] = /^ {2}.* (approvals grant \S+)/mu.exec(shown.out) ?? [];
    const granted = await typed(t, [...grant.split(' '), '--reason', 'Agreed.'], { as: 'lea' });
    assert.deepEqual([granted.code, granted.out], [0, 'granted\n'], granted.err);
    const { code, out, err } = await running;
    assert.equal(code, 0, out + err);
    assert.deepEqual(outputIn(out), { device: 'ce0', changed: true, hostname: 'oslo-edge-1' });
    const again = typed(t, ['run', 'Rename a device', '--follow']);
    await until('the next run waits', async () => (await listed()).includes('device-changes'));
    const next = JSON.parse(await listed()) as { readonly id: string };
    assert.equal((await typed(t, ['approvals', 'reject', next.id, '--reason', 'Not tonight.'], { as: 'lea' })).out, 'rejected\n');
    const rejected = await again;
    assert.equal(rejected.code, 0, rejected.out + rejected.err);
    assert.match((outputIn(rejected.out) as { readonly reason: string }).reason, /rejected by lea: Not tonight\.$/u);
  });

  test('ends with the reason of the orchestrator where a device is not ready, and creates no VPN', async (t) => {
    const files = { 'vpn.yaml': 'vpn: none\ndevices: [ce6, ce23]\n' };
    const { code, out } = await typed(t, ['run', 'Bring up a VPN', '--input', 'vpn.yaml', '--follow'], { files });
    assert.equal(code, 1);
    assert.match(out, /^device-not-ready \(409\): ce23: Failed to connect to device ce23: connection refused$/mu);
    const { out: list } = await typed(t, ['runs', 'list', '--status', 'faulted', '--automation', 'Bring up a VPN']);
    assert.equal(list.trimEnd().split('\n').length, 1);
    const { id } = JSON.parse(list) as { readonly id: string };
    const shown = await typed(t, ['runs', 'show', id]);
    assert.match(shown.out, /^error {7}device-not-ready \(409\): ce23: /mu);
    assert.doesNotMatch(shown.out, /createVpn/u);
  });
});

const push = `document: { dsl: 1.0.3, namespace: lab, name: push, version: 1.0.0 }
do:
  - push: { call: restCall, with: { uri: "${far.url}/push", verb: POST, body: { a: 1 } } }
`;

describe('the commands of runs', () => {
  test('tell of a suspended run what people have to decide, and the decision that they print works', async (t) => {
    await stored('Push', push, { workflowId: 'lab.push' });
    far.answer((_request, socket) => void socket.destroy());
    const { code, out, err } = await typed(t, ['run', 'Push', '--follow']);
    assert.equal(code, 3, out + err);
    assert.match(out, /suspended/u);
    const [, id = ''] = /runs show (\S+)/u.exec(err) ?? [];
    const shown = await typed(t, ['runs', 'show', id]);
    const [, decide = ''] = /^ {2}.* (runs decide .*) --reason '…' {2}\(push\)$/mu.exec(shown.out) ?? [];
    const decided = await typed(t, [...decide.split(' '), '--reason', 'The upstream has it.']);
    assert.equal(decided.code, 0, `${shown.out}\n${decided.err}`);
    await until('the run is completed', async () => (await typed(t, ['runs', 'show', id])).out.includes('completed after'));
  });

  test('cancel a run whose call is in flight, and refuse a second cancel with the state of the run', async (t) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    far.answer(async () => {
      await promise;
      return jsonReply('{}');
    });
    t.after(() => resolve());
    const { out } = await typed(t, ['run', 'Push']);
    const id = out.trim();
    await until('the call is in flight', () => far.requests.length === 1);
    const cancelled = await typed(t, ['runs', 'cancel', id]);
    assert.deepEqual([cancelled.code, cancelled.out], [0, 'cancelled\n']);
    const second = await typed(t, ['runs', 'cancel', id]);
    assert.equal(second.code, 1);
    assert.match(second.err, /has ended already: it is cancelled/u);
  });

  test('refuse what the role of the login does not allow', async (t) => {
    const denied = await typed(t, ['run', 'Push'], { role: 'readonly' });
    assert.equal(denied.code, 1);
    assert.match(denied.err, /the user readonly-user may not do this: /u);
    const hidden = await typed(t, ['run', 'Pusch'], { role: 'other' });
    assert.match(hidden.err, /did you mean "Push"\?/u);
  });
});

test('the guide of the first workflow has the document that it tells the reader to write', async () => {
  const guide = await readFile(new URL('../docs/guides/first-workflow.md', import.meta.url), 'utf8');
  const expressions = createExpressionPool({ threads: 1 });
  try {
    const documents = [...guide.matchAll(/```yaml\n(document:.*?)```/gsu)].map(([, text = '']) => text);
    assert.ok(documents.length > 0);
    for (const text of documents) {
      const read = await readWorkflow({ text, known: { adapters: ['Local NSO'] }, expressions });
      assert.ok('workflow' in read, JSON.stringify(read));
    }
  } finally {
    await expressions.close();
  }
});
