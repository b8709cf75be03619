// suite: long

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { loginAt, shell } from './support/gateway/command.ts';
import { executable } from './support/gateway/gateway-process.ts';
import { type Gateway, startGateway, testPasswordHash } from './support/gateway/start-gateway.ts';
import type { Owner } from './support/owner.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// docs/guides/from-lab-to-production.md: its configuration, its files and its commands, in a shell.

const guide = readFileSync(new URL('../docs/guides/from-lab-to-production.md', import.meta.url), 'utf8');
const sections = guide.split('\n## ');
const yaml = [...guide.matchAll(/```yaml\n(.*?)```/gsu)].map(([, text = '']) => text);
const commandsOf = (title: string): readonly string[] => {
  const section = sections.find((text) => text.startsWith(title)) ?? assert.fail(title);
  return [...section.matchAll(/```sh\n(.*?)```/gsu)].flatMap(([, text = '']) => text.trim().split('\n'));
};

const [adapters = '', workflow = '', automation = '', ...others] = yaml;
assert.equal(others.length, 0);

const rights =
  `createWorkflow checkWorkflow readWorkflow listWorkflows createAutomation readAutomation listAutomations patchAutomation
  runAutomation readRun listRunTasks followRun`.split(/\s+/u);
const roles = [
  {
    name: 'noc',
    allows: [
      { routes: rights, workflows: ['noc.*'] },
      { routes: ['restQuery'], adapters: ['NSO'], via: ['run'] },
    ],
  },
];

function started(owner: Owner, url: string): Promise<Gateway> {
  const [adapter] = (parse(adapters) as { readonly adapters: readonly object[] }).adapters;
  return startGateway(owner, {
    // Of kind nso, the gateway would read the YANG library.
    adapters: [{ ...adapter, kind: 'restconf', url }],
    users: [{ username: 'nora', passwordHash: testPasswordHash, roles: ['noc'] }],
    environment: { NSO_PASSWORD: 'x' },
    config: { access: { roles } },
  });
}

test('each command of the guide works, for an engineer and then for the operator', async (t) => {
  const far = await upstream(t);
  far.answer(() => jsonReply('{"name":"lab-1"}'));
  const [lab, production, empty] = [await started(t, far.url), await started(t, far.url), await started(t, far.url)];
  const directory = mkdtempSync(join(tmpdir(), 'guide-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  mkdirSync(join(directory, 'bin'));
  writeFileSync(join(directory, 'bin', 'orchestration-gateway'), `#!/bin/sh\nexec '${process.execPath}' '${executable}' "$@"\n`);
  chmodSync(join(directory, 'bin', 'orchestration-gateway'), 0o755);
  writeFileSync(join(directory, 'check-device.yaml'), workflow);
  writeFileSync(join(directory, 'edge.yaml'), automation);
  writeFileSync(join(directory, 'lab-device.yaml'), 'device: lab-1\n');
  const PATH = `${join(directory, 'bin')}:${process.env['PATH'] ?? ''}`;
  const type = async (user: string, to: Gateway, lines: readonly string[]): Promise<string> => {
    const printed: string[] = [];
    for (const line of lines) {
      const environment = { ...loginAt(lab, user), PRODUCTION: to.url, PATH };
      const { code, stdout, stderr } = await shell(`cd '${directory}' && ${line}`, environment);
      assert.equal(code, 0, `${line}\n${stdout}${stderr}`);
      printed.push(stdout);
    }
    return printed.join('');
  };
  await type('nora', production, commandsOf('One workflow at a time'));
  assert.deepEqual(
    far.requests.map(({ target }) => target),
    ['/restconf/data/tailf-ncs:devices/device=lab-1'],
  );
  const shown = await type('nora', production, commandsOf('Automations, and what differs'));
  assert.match(shown, /^input {7}\{"device":"edge-1"\}$/mu);
  assert.match(shown, /^schedule {4}30 6 \* \* 1-5 \(Europe\/Berlin\)$/mu);
  await type('admin-user', empty, commandsOf('The whole catalogue'));
  const catalogueOf = async (gateway: Gateway): Promise<string> =>
    (await gateway.send({ target: '/automation_catalog/export', role: 'admin' })).text.replaceAll('nora', 'admin-user');
  assert.equal(await catalogueOf(empty), await catalogueOf(lab));
});
