// suite: long

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { parse } from 'yaml';
import { startDemoOrchestrator } from '../demo/demo-orchestrator.ts';
import { type Person, people } from './support/approvals/approval-caller.ts';
import { type CliRun, runCommandLine } from './support/gateway/run-command-line.ts';
import { startGateway, testPassword } from './support/gateway/start-gateway.ts';
import type { Owner } from './support/owner.ts';
import { until } from './support/until.ts';

// docs/guides/change-many-devices.md: its documents, its rule and its commands, against the demo orchestrator.

const guide = readFileSync(new URL('../docs/guides/change-many-devices.md', import.meta.url), 'utf8');
const [one = '', all = '', automation = '', rule = '', ...others] = [...guide.matchAll(/```yaml\n(.*?)```/gsu)].map(
  ([, text = '']) => text,
);
assert.equal(others.length, 0);
const lines = [...guide.matchAll(/```sh\n(.*?)```/gsu)].flatMap(([, text = '']) => text.trim().split('\n'));

const owner: Owner = { after };
const orchestrator = await startDemoOrchestrator();
after(() => orchestrator.close());
const gateway = await startGateway(owner, {
  users: [...people],
  config: parse(rule) as Readonly<Record<string, unknown>>,
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

const devices = Array.from({ length: 24 }, (_, index) => `ce${index}`);
const files = {
  'name-one-device.yaml': one,
  'name-devices.yaml': all,
  'name-devices-automation.yaml': automation,
  'one.yaml': 'devices: [ce0]\n',
  'all.yaml': `devices: [${devices.join(', ')}]\n`,
};

/** The words of a line, of which some are in quotes. */
function wordsOf(line: string): readonly string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/gu)].map(([, quoted, word]) => quoted ?? word ?? '');
}

async function typed(line: string, as: Person | 'admin-user' = 'admin-user'): Promise<CliRun> {
  const [program, ...argv] = wordsOf(line);
  assert.equal(program, 'orchestration-gateway');
  const env = { GATEWAY_URL: gateway.url, GATEWAY_USER: as, GATEWAY_PASSWORD: testPassword };
  return await runCommandLine(owner, argv, { env, files });
}

async function granted(): Promise<void> {
  const id = await until('an approval waits', async () => {
    const { out } = await typed('orchestration-gateway approvals list --status waiting', 'lea');
    return out === '' ? undefined : (JSON.parse(out.split('\n')[0] ?? '') as { readonly id: string }).id;
  });
  const { code, err } = await typed(`orchestration-gateway approvals grant ${id} --reason 'Agreed.'`, 'lea');
  assert.equal(code, 0, err);
}

test('each command of the guide works: one device, all at night with one approval, and those that failed again', async () => {
  const [store, create, tryOne, list, runAll, show, items, rerun, ...more] = lines;
  assert.ok(store && create && tryOne && list && runAll && show && items && rerun);
  assert.equal(more.length, 0);
  for (const line of [store, create]) {
    const { code, err } = await typed(line);
    assert.equal(code, 0, `${line}\n${err}`);
  }
  const [first] = await Promise.all([typed(tryOne), granted()]);
  assert.equal(first.code, 0, first.out + first.err);
  const started = await typed(runAll);
  assert.equal(started.code, 0, started.err);
  await until('the approval is listed', async () => (await typed(list, 'lea')).out.includes('fleet-changes'));
  await granted();
  await until('the run has ended', async () => /^status {6}completed/mu.test((await typed(show)).out));
  const shown = await typed(show);
  assert.match(shown.out, /^items {7}2\d of 24 completed, \d failed$/mu);
  const failed = (await typed(items)).out.trimEnd().split('\n');
  assert.ok(failed.length >= 1 && failed.every((line) => line.includes('"status":"faulted"')), failed.join('\n'));
  const [again] = await Promise.all([typed(rerun), granted()]);
  assert.ok([0, 1].includes(again.code), again.err);
  const count = new RegExp(`of ${failed.length} completed`, 'u');
  assert.match((await typed(show)).out, count);
});
