// suite: long

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { people } from './support/approvals/approval-caller.ts';
import { assertProblem, post } from './support/callers/calls.ts';
import { command, spawnCommand } from './support/gateway/command.ts';
import { collect, readyPort } from './support/gateway/gateway-process.ts';
import { basic, configurationOf, startGateway, startGatewayProcess, testPassword } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { queryTask, runCaller } from './support/runs/run-caller.ts';
import { until } from './support/until.ts';
import { type FarRequest, jsonReply, upstream } from './support/upstreams/upstream.ts';
import { WebhookReceiver } from './support/upstreams/webhook-receiver.ts';

// One gateway a SQLite file: who waits for the file, and how soon the next gateway goes on with what the last one held.

const far = await upstream({ after });

/** A directory with a configuration for a gateway on this file. */
function directoryFor(t: TestContext, file: string, startTimeout: string | number): string {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-lock-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const config = { server: { logLevel: 'info' }, store: { url: `sqlite:${file}`, startTimeout } };
  writeFileSync(join(directory, 'gateway.yaml'), JSON.stringify(configurationOf({ config })));
  return directory;
}

/** A gateway that waits for this file. */
async function waitingFor(t: TestContext, file: string) {
  const child = spawnCommand(['serve'], { directory: directoryFor(t, file, '60s') });
  t.after(() => void child.kill('SIGKILL'));
  const output = collect(child);
  await until('it waits', () => output.stderr.some((line) => line.includes('waits for it')));
  return { child, output };
}

test('a second gateway on a SQLite file waits, says so once, and exits naming the file, also under another name', async (t) => {
  const gateway = await startGateway(t);
  const file = join(gateway.directory, 'gateway.db');
  assert.equal(statSync(`${file}.lock`).mode & 0o777, 0o600);
  const link = join(gateway.directory, 'link.db');
  symlinkSync(file, link);
  for (const name of [file, link]) {
    const { code, stdout, stderr } = await command(['serve'], { directory: directoryFor(t, name, '1s') });
    assert.deepEqual([code, stdout], [1, '']);
    assert.equal(stderr.split('and waits for it').length, 2, stderr);
    assert.match(
      stderr,
      new RegExp(`^orchestration-gateway: it did not start: Another gateway has the SQLite file ${name}:`, 'mu'),
    );
  }
  const { code, stderr } = await command(['serve'], { directory: directoryFor(t, file, 0) });
  assert.equal(code, 1);
  assert.match(stderr, /^orchestration-gateway: [^\n]*\n$/u, 'it does not wait');
});

test('a command on the store of a running gateway needs no lock', async (t) => {
  const gateway = await startGateway(t);
  const directory = directoryFor(t, join(gateway.directory, 'gateway.db'), '1s');
  const { code, stderr } = await command(['audit', 'verify'], { directory });
  assert.equal(code, 0, stderr);
});

test('a gateway that waits for a SQLite file starts when the other one has drained, and SIGTERM ends the wait', async (t) => {
  const answered = Promise.withResolvers<void>();
  far.answer(async () => {
    await answered.promise;
    return jsonReply('{}');
  });
  const first = await startGateway(t, { adapters: [{ name: 'Far', kind: 'rest', url: far.url }] });
  const file = join(first.directory, 'gateway.db');
  const reply = post(first, '/orchestrator_manager/restAction/Far', {
    params: { path: 'act', accept: 'application/json' },
    body: {},
  });
  await until('the call is in flight', () => far.requests.length === 1);
  const ending = await waitingFor(t, file);
  ending.child.kill('SIGTERM');
  assert.deepEqual(await once(ending.child, 'exit'), [0, null]);
  const { child, output } = await waitingFor(t, file);
  const stopped = first.stop();
  await lapse(500, 'the other gateway must not start before this one has drained');
  assert.deepEqual(output.stdout, []);
  answered.resolve();
  assert.equal((await reply).status, 200);
  assert.equal(await stopped, 0);
  await readyPort(child, output);
});

test('a killed gateway that starts again on its SQLite file goes on within two seconds with all that it held', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  receiver.answer = () => new Promise(() => undefined);
  const held: FarRequest[] = [];
  far.answer((request) => (held.push(request) > 2 ? jsonReply('{}') : undefined));
  let gateway = await startGatewayProcess(t, {
    users: [...people],
    config: {
      notifications: [{ url: receiver.url, secret: receiver.secret }],
      approvals: [{ name: 'changes', when: { routes: ['restRequest'] }, approvers: { roles: ['admin'] } }],
    },
    adapters: [{ name: 'Far', kind: 'rest', url: far.url, concurrency: 8 }],
  });
  const runs = runCaller(() => gateway, gateway.basicFor('admin'));
  const run = await runs.start(await runs.automation('asks', [queryTask('one')]));
  const headers = { 'Idempotency-Key': 'once' };
  const params = { path: 'act', accept: 'application/json' };
  const act = () => post(gateway, '/orchestrator_manager/restAction/Far', { params, body: {} }, { headers });
  const lost = act().catch(() => undefined);
  const change = { params: { ...params, method: 'PATCH', contentType: 'application/json' }, body: {} };
  const ann = { Authorization: basic('ann', testPassword) };
  const refused = await post(gateway, '/orchestrator_manager/restRequest/Far', change, { headers: ann });
  assertProblem(refused, 403, 'approval-required');
  await receiver.has(1);
  await until('two calls are in flight', () => held.length === 2);
  await gateway.stop('SIGKILL');
  await lost;
  gateway = await gateway.restart();
  const listening = performance.now();
  const passed: Record<string, number> = {};
  const note = async (what: string, happens: Promise<unknown>): Promise<void> => {
    await happens;
    passed[what] = Math.round(performance.now() - listening);
  };
  await Promise.all([
    note('run', runs.reaches(run.id, 'completed')),
    note('notification', receiver.has(2)),
    note(
      'key',
      until('the outcome is unknown', async () => (await act()).text.includes('"outcome-unknown"')),
    ),
  ]);
  t.diagnostic(`milliseconds after the gateway listened: ${JSON.stringify(passed)}`);
  for (const [what, after] of Object.entries(passed)) assert.ok(after < 2_000, `${what}: ${after} ms`);
  assert.equal(far.requests.filter(({ method }) => method === 'POST').length, 1);
});
