// suite: long

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { parse } from 'yaml';
import { startDemoOrchestrator } from '../demo/demo-orchestrator.ts';
import { startGateway, testPassword, testPasswordHash } from './support/gateway/start-gateway.ts';
import { missing } from './support/installed.ts';
import { runCaller } from './support/runs/run-caller.ts';
import { eachStore, storeUrl } from './support/stores/stores.ts';

// docs/guides/nso-sees-the-person.md on one machine: the same automation works for one person, and the orchestrator refuses it for another.

const skip = missing('python3', '--version', 'python3');

eachStore((store) => {
  for (const carrier of ['token', 'basic'] as const)
    test(`the automation of the guide works for one person and is refused for another, by ${carrier}`, { skip }, async (t) => {
      const guide = await readFile(new URL('../docs/guides/nso-sees-the-person.md', import.meta.url), 'utf8');
      const blocks = [...guide.matchAll(/```yaml\n(.*?)```/gsu)].map(([, text = '']) => text);
      const workflow = blocks.find((text) => text.startsWith('document:')) ?? '';
      const step = (
        parse(blocks[1] ?? '') as { readonly adapters: readonly [{ readonly auth: Readonly<Record<string, unknown>> }] }
      ).adapters[0];
      const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
      const keys = [publicKey.export({ type: 'spki', format: 'pem' })];
      const assertions = { keys, issuer: 'orchestration-gateway', audience: 'nso-lab' };
      const demo = await startDemoOrchestrator({ release: '6.7', assertions });
      t.after(() => demo.close());
      const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
      const service = { type: 'basic', username: 'admin', password: 'admin' };
      const person = (username: string, groups: readonly string[], roles: readonly string[]) => ({
        username,
        passwordHash: testPasswordHash,
        roles,
        groups,
      });
      const gateway = await startGateway(t, {
        config: { store: { url: storeUrl(await store.empty(t)) } },
        adapters: [{ ...step, url: demo.url, auth: { ...step.auth, carrier, key, service } }],
        users: [person('ada', [], ['admin']), person('ann', ['noc'], ['other']), person('hal', ['help-desk'], ['other'])],
      });
      const as = (name: string) => `Basic ${Buffer.from(`${name}:${testPassword}`).toString('base64')}`;
      const send = async (target: string, type: string, body: string) => {
        const headers = { authorization: as('ada'), 'content-type': type };
        const reply = await gateway.send({ method: 'POST', target, headers, body });
        assert.ok(reply.status < 300, reply.text);
        return reply.json();
      };
      await send('/automation_catalog/workflows', 'application/yaml', workflow);
      const data = { workflowId: 'noc.new-vpn', gbac: { write: ['noc', 'help-desk'], read: [] } };
      const made = await send('/automation_catalog/automations', 'application/json', JSON.stringify({ name: 'New VPN', data }));
      const { _id } = made as { readonly _id: string };
      const asAda = runCaller(() => gateway, as('ada'));
      const runAs = async (name: string) => {
        const { id } = await runCaller(() => gateway, as(name)).start(_id);
        return await asAda.reaches(id, 'completed', 'faulted', 'suspended');
      };
      const refused = await runAs('hal');
      assert.equal(refused.status, 'faulted');
      assert.match(refused.error?.detail ?? '', /403: access-denied.*The call was sent as hal/su);
      const worked = await runAs('ann');
      assert.equal(worked.status, 'completed', JSON.stringify(worked.error));
      const path = 'restconf/data/tailf-rollback:rollback-files/file';
      const files = await send(
        '/orchestrator_manager/restQuery/Local%20NSO',
        'application/json',
        JSON.stringify({ params: { path, accept: 'application/yang-data+json' } }),
      );
      const text = JSON.stringify(files);
      assert.match(text, /creator\W+ann\b/u);
      assert.match(text, /label\W+og-[\w-]+/u);
      assert.match(text, new RegExp(`ann \\(ann\\) via run ${worked.id}`, 'u'));
      assert.doesNotMatch(text, /hal \(hal\)/u);
    });
});
