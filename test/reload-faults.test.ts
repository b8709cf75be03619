import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { assertProblem, instancesOf, relay } from './support/callers/calls.ts';
import { type Reply, send } from './support/callers/http-client.ts';
import { spawnCommand } from './support/gateway/command.ts';
import { collect, readyPort } from './support/gateway/gateway-process.ts';
import { askToReload, hangUp, logCaughtUp, logLines, type Reloaded, reloadWith, rewrite } from './support/gateway/reloading.ts';
import { basic, configurationOf, type Gateway, startGateway } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { temporaryFile } from './support/temporary-file.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// A reload of a faulty file changes nothing, and names each problem (docs/reference/configuration.md, Reloading).

const far = await upstream({ after });
const patience = { timeout: 90_000 };
const adapters = [{ name: 'a', kind: 'rest', url: far.url, auth: { type: 'none' } }];
const unreachable = [{ ...adapters[0], url: 'http://127.0.0.1:9' }];

const shared = await startGateway({ after }, { adapters });

/** The shared gateway with the configuration that it started with; the log of all earlier requests has arrived. */
async function started(): Promise<Gateway> {
  await reloadWith(shared, { adapters });
  await logCaughtUp(shared);
  return shared;
}

const query = (gateway: Gateway, headers: Readonly<Record<string, string>> = {}): Promise<Reply> =>
  relay(gateway, 'restQuery', 'a', { params: { path: 'x', accept: 'application/json' } }, { headers });

async function assertUnchanged(gateway: Gateway): Promise<void> {
  far.answer(() => jsonReply('{"still":"here"}'));
  assert.deepEqual(instancesOf(await query(gateway)), [{ still: 'here' }]);
}

/** The text of a good configuration with `to` in the place of `from`. */
function faulty(from: string, to: string, of: readonly Readonly<Record<string, unknown>>[] = unreachable): string {
  const text = JSON.stringify(configurationOf({ adapters: of }), undefined, 2);
  assert.ok(text.includes(from));
  return text.replace(from, to);
}

const faults: readonly (readonly [string, string, RegExp])[] = [
  ['text that is not YAML', faulty('"adapters": [', '"adapters": ['.concat('[')), /gateway\.yaml:\d+:\d+: /],
  ['an unknown key', faulty('"kind"', '"kinds"'), /gateway\.yaml:\d+:\d+: adapters\[0\]/],
  [
    'a faulty password hash',
    faulty('$argon2id$v=19', 'plain-text-password'),
    /gateway\.yaml:\d+:\d+: access\.users\[0\]\.passwordHash/,
  ],
  [
    'a missing secret file',
    faulty('"type": "none"', '"type": "bearer", "token": { "file": "gone.txt" }'),
    /gateway\.yaml:\d+:\d+: adapters\[0\]\.auth\.token/,
  ],
  ['a missing environment variable', faulty('"type": "none"', '"type": "bearer", "token": { "env": "NOT_SET" }'), /NOT_SET/],
  ['an empty file', '', /gateway\.yaml:1:1: the file is empty/],
];

for (const [what, text, expected] of faults) {
  test(`${what} changes nothing; the reply and the log name the place`, patience, async () => {
    const gateway = await started();
    rewrite(gateway, text);
    const lines = (await hangUp(gateway)).filter(({ level }) => level === 'error');
    const problem = assertProblem(await askToReload(gateway), 409, 'configuration-invalid');
    const details = (problem.errors ?? []).map(({ detail }) => detail);
    assert.ok(
      details.some((detail) => expected.test(detail)),
      JSON.stringify(problem),
    );
    assert.deepEqual(
      lines.map(({ file, reason }) => `${file}: ${reason}`),
      details,
    );
    assert.doesNotMatch(gateway.stderr.join('\n') + JSON.stringify(problem), /plain-text-password/);
    await assertUnchanged(gateway);
  });
}

test('a missing file changes nothing', patience, async () => {
  const gateway = await started();
  unlinkSync(gateway.configFile);
  const { errors } = assertProblem(await askToReload(gateway), 409, 'configuration-invalid');
  assert.match(errors?.[0]?.detail ?? '', /gateway\.yaml:1:1: the file /);
  await hangUp(gateway);
  await assertUnchanged(gateway);
});

test('an unreadable secret file changes nothing, and neither reply nor log shows its content', patience, async (t) => {
  const file = temporaryFile(t, 'secret', 'a-secret-value\nof two lines');
  const gateway = await started();
  rewrite(gateway, { adapters: [{ ...adapters[0], auth: { type: 'bearer', token: { file } } }] });
  // Root may read every file; for root the second line is the fault, since a token has one line.
  if (process.getuid?.() !== 0) chmodSync(file, 0);
  const reply = await askToReload(gateway);
  assertProblem(reply, 409, 'configuration-invalid');
  await hangUp(gateway);
  assert.doesNotMatch(reply.text + gateway.stderr.join('\n'), /a-secret-value/);
  await assertUnchanged(gateway);
});

test('a file with a single fault changes nothing, although the rest of the file is good', patience, async () => {
  const gateway = await started();
  const next = configurationOf({
    adapters: [...unreachable, { ...unreachable[0], name: 'b', timeouts: { total: 'soon' } }],
    config: { server: { logLevel: 'error', rateLimit: { calls: 1, per: '1h' } }, access: { users: [] } },
  });
  rewrite(gateway, JSON.stringify(next));
  assertProblem(await askToReload(gateway), 409, 'configuration-invalid');
  await assertUnchanged(gateway);
  await assertUnchanged(gateway);
});

test('a file that was corrected is in force after the next reload', patience, async () => {
  const gateway = await started();
  rewrite(gateway, '{');
  assertProblem(await askToReload(gateway), 409, 'configuration-invalid');
  assert.deepEqual((await reloadWith(gateway, { adapters })).adapters.unchanged, ['a']);
});

test('reloads that are asked for at once run one after the other, and the last file is in force', patience, async () => {
  const gateway = await started();
  const replies: Promise<Reply>[] = [];
  for (let count = 0; count < 10; count += 1) {
    rewrite(gateway, { adapters: [{ ...adapters[0], responseLimit: `${count + 1}MiB` }] });
    replies.push(askToReload(gateway));
    gateway.kill('SIGHUP');
  }
  for (const reply of await Promise.all(replies)) assert.equal(reply.status, 200, reply.text);
  const last = await askToReload(gateway);
  assert.deepEqual((last.json() as Reloaded).adapters.unchanged, ['a']);
  await assertUnchanged(gateway);
});

test('no call is lost under load while the gateway reloads twenty times', { timeout: 120_000 }, async (t) => {
  const [one, two] = [await upstream(t), await upstream(t)];
  const slowly = async (): Promise<Buffer> => {
    await lapse(5 + Math.random() * 50, 'calls take different times');
    return jsonReply(JSON.stringify({ text: 'x'.repeat(Math.random() < 0.2 ? 200_000 : 10) }));
  };
  one.answer(slowly);
  two.answer(slowly);
  const gateway = await started();
  await reloadWith(gateway, { adapters: [{ ...adapters[0], url: one.url, concurrency: 8 }] });
  const headers = { Authorization: `Bearer ${await gateway.tokenFor('admin')}` };
  const ended = new AbortController();
  const replies: Reply[] = [];
  const caller = async (): Promise<void> => {
    while (!ended.signal.aborted) replies.push(await query(gateway, headers));
  };
  const callers = Array.from({ length: 24 }, caller);
  for (let count = 1; count <= 20; count += 1) {
    await reloadWith(gateway, { adapters: [{ ...adapters[0], url: (count % 2 === 0 ? one : two).url, concurrency: 8 }] });
    const before = replies.length;
    await until('calls go on', () => replies.length > before + 10);
  }
  ended.abort();
  await Promise.all(callers);
  const lost = replies.filter(({ status, complete }) => status !== 200 || !complete);
  assert.deepEqual(
    lost.map(({ text }) => text.slice(0, 300)),
    [],
  );
  assert.ok(one.requests.length > 50 && two.requests.length > 50);
  t.diagnostic(`${replies.length} calls under 20 reloads, none lost`);
});

test('the demo refuses a reload, since it has no configuration file', patience, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-test-'));
  const child = spawnCommand(['demo'], { directory, environment: { GATEWAY_ADMIN_PASSWORD: 'demo' } });
  t.after(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
    rmSync(directory, { recursive: true, force: true });
  });
  const output = collect(child);
  const port = await readyPort(child, output);
  const headers = { Authorization: basic('admin', 'demo') };
  const reply = await send(port, { method: 'POST', target: '/adapters/reload', headers });
  assertProblem(reply, 409, 'reload-unavailable');
  const from = output.stderr.length;
  child.kill('SIGHUP');
  await until('SIGHUP is answered in the log', () =>
    output.stderr.slice(from).some((line) => line.includes('was not taken in again')),
  );
  assert.equal((await send(port, { target: '/whoami', headers })).status, 200);
});

test('a gateway that drains reads no configuration', patience, async (t) => {
  const gateway = await startGateway(t, { adapters });
  const { promise, resolve } = Promise.withResolvers<void>();
  far.answer(async () => {
    await promise;
    return jsonReply('{"still":"here"}');
  });
  const call = query(gateway);
  await until('the call has arrived', () => far.requests.length === 1);
  const stopped = gateway.stop();
  await until('it drains', () => logLines(gateway).some(({ msg }) => msg.startsWith('draining')));
  writeFileSync(gateway.configFile, '{');
  gateway.kill('SIGHUP');
  await until('SIGHUP is answered in the log', () => logLines(gateway).some(({ msg }) => msg.startsWith('SIGHUP')));
  resolve();
  assert.deepEqual(instancesOf(await call), [{ still: 'here' }]);
  assert.equal(await stopped, 0);
});
