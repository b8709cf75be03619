import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertProblem, post } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { type Gateway, startGateway, testPassword } from './support/gateway/start-gateway.ts';

// server.publicUrl: where callers reach a gateway behind a proxy that ends TLS.

const behindTls = await startGateway({ after }, { config: { server: { publicUrl: 'https://gateway.example.net/base/' } } });
const plain = await startGateway({ after }, { config: { server: { publicUrl: 'http://gateway.example.net:8080' } } });
const without = await startGateway({ after });

const login = (on: Gateway, headers: Readonly<Record<string, string>> = {}): Promise<Reply> =>
  post(on, '/login', { username: 'admin-user', password: testPassword }, { headers });

describe('the session cookie', () => {
  const cookieOf = async (on: Gateway): Promise<string> => (await login(on)).header('set-cookie') ?? '';

  test('is Secure and has the prefix __Host- where publicUrl is https', async () => {
    assert.match(await cookieOf(behindTls), /^__Host-orchestration_gateway_session=[^;]+; Path=\/; .*; Secure$/);
  });

  test('is neither where publicUrl is http, or where neither it nor TLS is configured', async () => {
    for (const gateway of [plain, without]) {
      const cookie = await cookieOf(gateway);
      assert.match(cookie, /^orchestration_gateway_session=/);
      assert.doesNotMatch(cookie, /Secure/);
    }
  });

  test('is good for the host of publicUrl with any port, and for no other name', async () => {
    const [Cookie = ''] = (await cookieOf(behindTls)).split(';');
    const who = (Host: string): Promise<Reply> => behindTls.send({ target: '/whoami', headers: { Cookie, Host } });
    for (const host of ['gateway.example.net', 'Gateway.Example.NET:443', `127.0.0.1:${behindTls.port}`])
      assert.equal((await who(host)).status, 200, host);
    for (const host of ['example.net', 'evil.gateway.example.net', 'gateway.example.net.evil.example'])
      assertProblem(await who(host), 401, 'unauthenticated');
  });

  test('without the prefix is no session where the prefix is in force, since a sibling domain can set it', async () => {
    const [cookie = ''] = (await cookieOf(behindTls)).split(';');
    const Cookie = cookie.replace('__Host-', '');
    assertProblem(await behindTls.send({ target: '/whoami', headers: { Cookie } }), 401, 'unauthenticated');
  });

  test('is removed under the same name by /logout', async () => {
    const [Cookie = ''] = (await cookieOf(behindTls)).split(';');
    const reply = await behindTls.send({ method: 'POST', target: '/logout', headers: { Cookie } });
    assert.match(reply.header('set-cookie') ?? '', /^__Host-orchestration_gateway_session=; .*Max-Age=0.*; Secure$/);
  });
});

test('the gateway’s own Origin is that of publicUrl, with any Host that the proxy sends', async () => {
  const Host = '10.0.0.11:3000';
  assert.equal((await login(behindTls, { Origin: 'https://gateway.example.net', Host })).status, 200);
  assert.equal((await login(plain, { Origin: 'http://gateway.example.net:8080', Host })).status, 200);
  for (const Origin of ['http://gateway.example.net', 'https://gateway.example.net/base', 'https://10.0.0.11:3000'])
    assertProblem(await login(behindTls, { Origin, Host }), 403, 'cross-site');
});

test('Location and the servers of OpenAPI are under publicUrl, with its path', async () => {
  const create = (on: Gateway): Promise<Reply> => post(on, '/automation_catalog/automations', { name: 'a' }, { role: 'admin' });
  const created = await create(behindTls);
  const { _id: id } = created.json() as { readonly _id: string };
  assert.equal(created.header('location'), `https://gateway.example.net/base/automation_catalog/automations/${id}`);
  assert.match((await create(without)).header('location') ?? '', /^\/automation_catalog\/automations\/\w+$/);

  interface Document {
    readonly servers: readonly { readonly url: string }[];
    readonly components: {
      readonly securitySchemes: {
        readonly session: { readonly name: string };
        readonly client: { readonly flows: { readonly clientCredentials: { readonly tokenUrl: string } } };
      };
    };
  }
  const documentOf = async (on: Gateway): Promise<Document> => (await on.send({ target: '/openapi.json' })).json() as Document;
  const { servers, components } = await documentOf(behindTls);
  assert.deepEqual(servers, [{ url: 'https://gateway.example.net/base' }]);
  assert.equal(components.securitySchemes.session.name, '__Host-orchestration_gateway_session');
  const { tokenUrl } = components.securitySchemes.client.flows.clientCredentials;
  assert.equal(tokenUrl, 'https://gateway.example.net/base/oauth/token');
  assert.deepEqual((await documentOf(without)).servers, [{ url: '/' }]);
});

test('a link of the documentation and the type of an error work under the path of publicUrl', async () => {
  const page = await behindTls.send({ target: '/docs' });
  if (page.status === 302) assert.equal(page.header('location'), 'https://gateway.example.net/base/console/api');
  const problem = (await behindTls.send({ target: '/whoami' })).json() as { readonly type: string };
  assert.equal(problem.type, '/base/docs#error-unauthenticated');
});
