import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { discoverOAuthProtectedResourceMetadata, extractWWWAuthenticateParams } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { reloadWith } from './support/gateway/reloading.ts';
import { hashOf, startGateway } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { audience, identityProvider } from './support/upstreams/identity-provider.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// Real clients of two eras of the protocol against a gateway: the SDK of the revision 2026-07-28, and that of 2025-11-25.

const far = await upstream({ after });
far.answer(() => jsonReply('{"n":18446744073709551615}'));
const provider = await identityProvider({ after });
const oidc = [{ issuer: provider.issuer, audience }];
const clients = [{ clientId: 'agent', secretHash: hashOf('agent-secret'), roles: ['admin'], groups: [], tokenLifetime: '30d' }];
const optionsWith = (mcp: object) => ({
  config: { access: { oidc, clients }, mcp: { enabled: true, readOnly: false, ...mcp } },
  adapters: [{ name: 'Local NSO', kind: 'restconf', url: far.url, auth: { type: 'none' } }],
});
const gateway = await startGateway({ after }, optionsWith({}));
const url = new URL(`${gateway.url}/mcp`);

async function clientToken(): Promise<string> {
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'agent', client_secret: 'agent-secret' });
  const reply = await gateway.send({
    method: 'POST',
    target: '/oauth/token',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
  });
  const { access_token: token, expires_in: seconds } = reply.json() as {
    readonly access_token: string;
    readonly expires_in: number;
  };
  assert.equal(seconds, 30 * 86_400, 'the token of an agent lives long');
  return token;
}

const withToken = (token: string) => ({ requestInit: { headers: { Authorization: `Bearer ${token}` } } });
const query = { name: 'orchestrator_query', arguments: { adapter: 'Local NSO', path: 'restconf/data/x' } };

async function clientsOnRecord(name: string): Promise<readonly unknown[]> {
  return await until('the call is on record', async () => {
    const reply = await gateway.send({ role: 'admin', target: '/audit?limit=100' });
    const { list } = reply.json() as { readonly list: readonly { readonly client?: { readonly name: string } }[] };
    const found = list.filter(({ client }) => client?.name.startsWith(name) === true);
    return found.length > 0 ? found : undefined;
  });
}

test('a client of the revision 2026-07-28 lists and calls tools with the token of a client of the gateway', async () => {
  const client = new Client({ name: 'second-era', version: '2.0.0' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(url, withToken(await clientToken())));
  const { tools } = await client.listTools();
  assert.equal(tools.length, 8);
  const { content, isError } = await client.callTool(query);
  assert.equal(isError ?? false, false);
  assert.match(JSON.stringify(content), /18446744073709551615/u);
  const { structuredContent } = await client.callTool({ name: 'list_adapters', arguments: {} });
  assert.equal((structuredContent as { readonly list: readonly object[] }).list.length, 1);
  const wrong = await client.callTool({ ...query, arguments: { adapter: 'Local NSO' } });
  assert.equal(wrong.isError, true);
  await client.callTool({ name: 'orchestrator_action', arguments: { ...query.arguments, body: '{}' } });
  await client.close();
  assert.ok((await clientsOnRecord('second-era')).length > 0);
});

for (const revision of ['2025-06-18', '2025-11-25'])
  test(`a client of the revision ${revision} lists and calls tools`, async () => {
    const client = new FirstClient({ name: 'first-era', version: '1.0.0' });
    const transport = new FirstTransport(url, {
      ...withToken(await clientToken()),
      fetch: async (to, init) => {
        // The client asks for its newest revision; an older one asks for this one.
        const body =
          typeof init?.body === 'string'
            ? init.body.replace('"protocolVersion":"2025-11-25"', `"protocolVersion":"${revision}"`)
            : init?.body;
        return await fetch(to, { ...init, ...(body !== undefined && { body }) });
      },
    });
    await client.connect(transport);
    assert.equal(transport.protocolVersion, revision);
    assert.match(client.getInstructions() ?? '', /list_adapters/u);
    assert.equal((await client.listTools()).tools.length, 8);
    const { content, isError } = await client.callTool(query);
    assert.equal(isError ?? false, false);
    assert.match(JSON.stringify(content), /18446744073709551615/u);
    // This client validates structured content by the schemas of the list.
    const { structuredContent } = await client.callTool({ name: 'list_automations', arguments: {} });
    assert.deepEqual(structuredContent, { list: [], total: 0 });
    await client.callTool({ name: 'orchestrator_action', arguments: { ...query.arguments, body: { a: 1 } } });
    await client.close();
    assert.ok((await clientsOnRecord('node')).length > 0, 'its User-Agent, since it names itself once alone');
  });

test('a token of a configured issuer is taken, and a client without one learns the issuers', async () => {
  const token = await provider.token({ roles: ['admin'], preferred_username: 'ann' });
  const client = new Client({ name: 'person', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(url, withToken(token)));
  assert.equal((await client.callTool(query)).isError ?? false, false);
  await client.close();

  const refused = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' });
  assert.equal(refused.status, 401);
  const { resourceMetadataUrl } = extractWWWAuthenticateParams(refused);
  assert.equal(resourceMetadataUrl?.href, `${gateway.url}/.well-known/oauth-protected-resource/mcp`);
  const metadata = await discoverOAuthProtectedResourceMetadata(url, { resourceMetadataUrl });
  assert.deepEqual(metadata.authorization_servers, [provider.issuer]);
  assert.equal(metadata.resource, url.href);
  const probed = await discoverOAuthProtectedResourceMetadata(url);
  assert.deepEqual(probed, metadata, 'clients that read no header probe the path');
});

test('with mcp.metadata false a reload leaves the metadata out', async (t) => {
  await reloadWith(gateway, optionsWith({ metadata: false }));
  t.after(() => reloadWith(gateway, optionsWith({})));
  const refused = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' });
  assert.equal(refused.status, 401);
  assert.doesNotMatch(refused.headers.get('www-authenticate') ?? '', /resource_metadata/u);
  for (const path of ['', '/mcp'])
    assert.equal((await fetch(`${gateway.url}/.well-known/oauth-protected-resource${path}`)).status, 404);
});

test('with mcp.readOnly a reload takes the tools away that change', async (t) => {
  await reloadWith(gateway, optionsWith({ readOnly: true }));
  t.after(() => reloadWith(gateway, optionsWith({})));
  const client = new Client({ name: 'reads', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(url, withToken(await clientToken())));
  assert.equal(
    (await client.listTools()).tools.some(({ name }) => name === 'run_automation'),
    false,
  );
  await client.close();
});
