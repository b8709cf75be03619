import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { parse } from 'yaml';
import { startGateway, testPassword, testPasswordHash } from './support/gateway/start-gateway.ts';
import { runCaller } from './support/runs/run-caller.ts';
import { tokenEndpoint } from './support/upstreams/token-endpoint.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// docs/guides/secrets-of-workflows.md: its configuration and its workflows, at a ticket system on loopback.

test('each example of the guide sends its credentials to the ticket system', async (t) => {
  const guide = await readFile(new URL('../docs/guides/secrets-of-workflows.md', import.meta.url), 'utf8');
  const tickets = await upstream(t, () => jsonReply('{"tickets":[]}'));
  const tokens = await tokenEndpoint(t, 'the client secret');
  const blocks = [...guide.matchAll(/```yaml\n(.*?)```/gsu)].map(([, text = '']) =>
    text.replaceAll('https://tickets.example.net', tickets.url),
  );
  const workflows = blocks.filter((text) => text.startsWith('document:'));
  const [automations, adapters, ...others] = blocks.filter((text) => !text.startsWith('document:'));
  assert.equal(others.length, 0);
  const { automations: section } = parse(automations ?? '') as { readonly automations: object };
  const configured = (parse(adapters ?? '') as { readonly adapters: readonly Readonly<Record<string, unknown>>[] }).adapters;
  const gateway = await startGateway(t, {
    adapters: configured.map((adapter) => ({ ...adapter, auth: tokens.authOf('gateway') })),
    users: [{ username: 'ada', passwordHash: testPasswordHash, roles: ['admin'], groups: ['noc-authors'] }],
    environment: { TICKET_LOGIN: 'noc:the password', TICKET_TOKEN: 'the-token', TICKET_KEY: 'the key' },
    config: { automations: section, outbound: { allow: [tickets.authority] } },
  });
  const authorization = `Basic ${Buffer.from(`ada:${testPassword}`).toString('base64')}`;
  const runs = runCaller(() => gateway, authorization);
  const send = async (target: string, type: string, body: string): Promise<unknown> => {
    const reply = await gateway.send({ method: 'POST', target, headers: { authorization, 'content-type': type }, body });
    assert.equal(reply.status, 201, reply.text);
    return reply.json();
  };
  for (const text of workflows) {
    await send('/automation_catalog/workflows', 'application/yaml', text);
    const { name } = (parse(text) as { readonly document: { readonly name: string } }).document;
    const automation = JSON.stringify({ name, data: { workflowId: `noc.${name}` } });
    const { _id } = (await send('/automation_catalog/automations', 'application/json', automation)) as { readonly _id: string };
    const { id } = await runs.start(_id);
    const run = await runs.reaches(id, 'completed', 'faulted');
    assert.deepEqual([run.status, run.output], ['completed', { tickets: [] }], JSON.stringify(run.error));
  }
  assert.deepEqual(
    tickets.requests.map((request) => [request.target, request.header('authorization'), request.header('x-api-key')]),
    [
      ['/api/basic', `Basic ${Buffer.from('noc:the password').toString('base64')}`, undefined],
      ['/api/bearer', 'Bearer the-token', undefined],
      ['/api/word', 'Token the-token', undefined],
      ['/api/key', undefined, 'the key'],
      ['/api/oauth', 'Bearer gateway.1', undefined],
    ],
  );
});
