import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertProblem, relay } from './support/callers/calls.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// NSO has other interfaces behind the same port, which the credentials of an adapter would open.

const far = await upstream({ after });
const common = { url: far.url, auth: { type: 'none' } };
const open = { actions: ['**', 'mcp/info'], queries: ['**', 'webui/**'] };
const gateway = await startGateway(
  { after },
  {
    adapters: [
      { ...common, kind: 'nso', name: 'plain' },
      { ...common, kind: 'nso', name: 'opened', allowPaths: open },
      { ...common, kind: 'restconf', name: 'other kind' },
    ],
  },
);

type Method = 'GET' | 'POST';

/** `sent`, or the code of the refusal. */
async function call(adapter: string, path: string, method: Method = 'POST'): Promise<string> {
  far.answer(() => jsonReply('{}'));
  const params = { path, accept: 'application/json', method };
  const reply = await relay(gateway, 'restRequest', adapter, { params, ...(method === 'POST' && { body: {} }) });
  return reply.status < 400 ? 'sent' : assertProblem(reply, reply.status).code;
}

const interfaces = ['mcp', 'jsonrpc', 'login', 'logout', 'sso', 'webui'];

const spellings: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => `/${name}`,
  (name) => `${name}/`,
  (name) => `${name}?x=1`,
  (name) => `${name}/below/it`,
  (name) => `./${name}`,
  (name) => `%2e/${name}`,
  (name) => `%2f${name}`,
  (name) => `/.//${name}`,
  (name) => `;a=b/${name}`,
  (name) => `${name};a=b`,
  (name) => `${name}%3Bx`,
  (name) => `${name}%3Fx`,
  (name) => `${name}%00`,
  (name) => `${name}%5cx`,
  (name) => `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
  (name) => `%25${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
  (name) => `%u00${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
  (name) => name.toUpperCase(),
  (name) => `${name}.`,
  (name) => `${name}%20`,
  (name) => `${name}+`,
  (name) => `${name.slice(0, 1)}%09${name.slice(1)}`,
  (name) => `${name.slice(0, 1)}%E2%80%8B${name.slice(1)}`,
  (name) => encodeURIComponent(String.fromCodePoint((name.codePointAt(0) ?? 0) + 0xfee0)) + name.slice(1),
  (name) => `${name}::$DATA`,
];

test('an adapter of kind nso lets no call reach another interface, in any spelling of its path', async () => {
  for (const name of interfaces)
    for (const spell of spellings) {
      const path = spell(name);
      assert.equal(await call('plain', path), 'path-denied', path);
      assert.equal(await call('plain', path, 'GET'), 'path-denied', path);
      assert.equal(far.connections, 0, path);
    }
});

test('a path with such a name in a later segment, or of another kind, is sent', async () => {
  for (const path of ['restconf/data/mcp', 'restconf/operations/x:login', 'mcpx', 'login-banner', 'api/running/webui'])
    assert.equal(await call('plain', path), 'sent', path);
  assert.equal(await call('other kind', 'mcp'), 'sent');
});

test('an entry of allowPaths opens an interface that it names, for its operation and its paths alone', async () => {
  assert.equal(await call('opened', 'mcp/info'), 'sent');
  assert.equal(await call('opened', 'mcp/info', 'GET'), 'path-denied');
  assert.equal(await call('opened', 'mcp/other'), 'path-denied');
  assert.equal(await call('opened', 'mcp'), 'path-denied');
  assert.equal(await call('opened', 'MCP/info'), 'path-denied');
  assert.equal(await call('opened', 'webui/index.html', 'GET'), 'sent');
  assert.equal(await call('opened', 'webui/index.html'), 'path-denied');
  assert.equal(await call('opened', 'jsonrpc'), 'path-denied');
});

test('the refusal names the rule, on record and in the explanation', async () => {
  const explained = await gateway.send({
    role: 'admin',
    method: 'POST',
    target: '/access/explain',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ principal: 'admin-user', route: 'restAction', adapter: 'plain', path: 'jsonrpc' }),
  });
  const { allowed, rule } = explained.json() as { readonly allowed: boolean; readonly rule: string };
  assert.deepEqual([allowed, rule], [false, 'nso: other interface']);
  await call('plain', 'jsonrpc/get_schema');
  await until('the refusal is on record', async () => {
    const reply = await gateway.send({ role: 'admin', method: 'GET', target: '/audit?address=jsonrpc%2Fget_schema' });
    const { list } = reply.json() as { readonly list: readonly { readonly rule?: string; readonly outcome?: string }[] };
    return list.some((record) => record.rule === 'nso: other interface' && record.outcome === 'refused');
  });
});
