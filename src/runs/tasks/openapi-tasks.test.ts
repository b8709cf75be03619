import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { errorOf, outputOf, type TaskGateway, taskGateway } from '../../../test/support/runs/call-tasks.ts';
import { sealedSecret } from '../../../test/support/runs/sealed-secret.ts';
import { type FarRequest, httpReply, jsonReply, upstream } from '../../../test/support/upstreams/upstream.ts';

const openapi3 = (server: string): string => `
openapi: 3.0.3
servers: [{ url: '${server}', variables: { version: { default: v1 } } }]
paths:
  /devices/{name}:
    parameters: [{ $ref: '#/components/parameters/Name' }]
    get:
      operationId: getDevice
      parameters:
        - { in: query, name: fields, schema: { type: array } }
        - { in: query, name: tags, explode: false, schema: { type: array } }
        - { in: query, name: filter, style: deepObject, explode: true, schema: { type: object } }
        - { in: header, name: X-Trace, schema: { type: integer } }
        - { in: cookie, name: session, schema: { type: string } }
    put:
      operationId: putDevice
      requestBody: { required: true, content: { text/plain: {}, application/vnd.device+json: {} } }
    options: { operationId: options }
components:
  parameters:
    Name: { in: path, name: name, required: true, schema: { type: string } }
`;

const swagger2 = {
  swagger: '2.0',
  basePath: '/base',
  paths: {
    '/pets/{id}': {
      post: {
        operationId: 'addPet',
        consumes: ['application/json'],
        parameters: [
          { in: 'path', name: 'id', type: 'integer' },
          { in: 'query', name: 'sort', type: 'array', collectionFormat: 'pipes' },
          { in: 'query', name: 'multi', type: 'array', collectionFormat: 'multi' },
          { in: 'body', name: 'pet', required: true },
        ],
      },
      put: { operationId: 'formPet', parameters: [{ in: 'formData', name: 'name', type: 'string' }] },
    },
  },
};

interface OpenApi {
  readonly gateway: TaskGateway;
  readonly calls: FarRequest[];
  readonly documents: () => number;
  readonly call: (operationId: string, parameters: string, more?: object) => ReturnType<TaskGateway['perform']>;
}

async function openApi(t: TestContext, document: string | object): Promise<OpenApi> {
  const gateway = await taskGateway(t);
  const { far, perform } = gateway;
  const calls: FarRequest[] = [];
  let documents = 0;
  far.answer((request) => {
    if (request.target !== '/spec/api') {
      calls.push(request);
      return jsonReply('{"n":1.10}');
    }
    documents += 1;
    return typeof document === 'string' ? httpReply({ body: document }) : jsonReply(JSON.stringify(document));
  });
  let activity = 1;
  return {
    gateway,
    calls,
    documents: () => documents,
    call: (operationId, parameters, more = {}) => {
      activity += 1;
      const others = JSON.stringify({ document: { endpoint: `${far.url}/spec/api` }, operationId, ...more }).slice(1);
      return perform('openapi', `{"parameters":${parameters},${others}`, { activity });
    },
  };
}

test('an OpenAPI 3 operation gets its parameters in path, query, header and cookie, and its document is fetched once', async (t) => {
  const { calls, call, documents } = await openApi(t, openapi3('../{version}/'));
  const parameters =
    '{"name":"a/b 1","fields":[18446744073709551615,"x&y"],"tags":["a","b"],"filter":{"k":1.0},"X-Trace":7,"session":"s"}';
  const authentication = { bearer: { token: 'abc' } };
  assert.deepEqual(outputOf(await call('getDevice', parameters, { authentication })), { n: 1.1 });
  assert.equal(calls[0]?.target, '/v1/devices/a%2Fb%201?fields=18446744073709551615&fields=x%26y&tags=a%2Cb&filter%5Bk%5D=1.0');
  const header = (name: string): string | undefined => calls[0]?.header(name);
  assert.deepEqual([header('x-trace'), header('cookie'), header('authorization')], ['7', 'session=s', 'Bearer abc']);
  await call('getDevice', '{"name":"c"}');
  assert.deepEqual([calls[1]?.target, documents()], ['/v1/devices/c', 1]);
});

test('a path parameter that is empty, or that leads out of its segment, fails the task, and nothing leaves', async (t) => {
  const { calls, call } = await openApi(t, openapi3('/api'));
  for (const name of ['', [], '.', '..', '%2e%2e', '../admin', 'a/..', '..;a=b', '..\\..', '.%252E'])
    assert.match(
      String(errorOf(await call('getDevice', JSON.stringify({ name })))[2]),
      /\/parameters has a value in "name" that is empty, or that leads out of its segment/u,
      String(name),
    );
  assert.equal(calls.length, 0);
  for (const name of ['..a', 'a..b', '...', 'ge-0/0/0.1', '.well-known'])
    outputOf(await call('getDevice', JSON.stringify({ name })));
  assert.equal(calls.length, 5);
});

test('the value of a cookie is percent-encoded where a cookie could not have it, so that it adds no other cookie', async (t) => {
  const { calls, call } = await openApi(t, openapi3('/api'));
  outputOf(await call('getDevice', JSON.stringify({ name: 'a', session: 'a; admin=true,"\\ é\r\nX: y' })));
  assert.equal(calls[0]?.header('cookie'), 'session=a%3B%20admin=true%2C%22%5C%20%C3%A9%0D%0AX:%20y');
});

test('an OpenAPI 3 operation gets the parameter body as its body, byte for byte, with its JSON media type', async (t) => {
  const { calls, call } = await openApi(t, openapi3('/api'));
  await call('putDevice', '{"name":"r1","body":{"mtu": 1500.0}}');
  assert.deepEqual([calls[0]?.method, calls[0]?.target], ['PUT', '/api/devices/r1']);
  assert.equal(calls[0]?.body.toString(), '{"mtu": 1500.0}');
  assert.equal(calls[0]?.header('content-type'), 'application/vnd.device+json');
});

test('a Swagger 2.0 operation gets its path, lists, body and form', async (t) => {
  const { calls, call } = await openApi(t, swagger2);
  await call('addPet', '{"id":7,"sort":["a","b"],"multi":[1,2],"pet":{"weight":2.50}}');
  assert.deepEqual([calls[0]?.method, calls[0]?.target], ['POST', '/base/pets/7?sort=a%7Cb&multi=1&multi=2']);
  assert.deepEqual([calls[0]?.body.toString(), calls[0]?.header('content-type')], ['{"weight":2.50}', 'application/json']);
  await call('formPet', '{"name":"x y"}');
  assert.equal(calls[1]?.target, '/base/pets/%7Bid%7D', 'a path parameter that no one declares stays');
  assert.equal(calls[1]?.body.toString(), 'name=x+y');
});

test('parameters that an operation lacks or does not have are named, and so is what a document cannot give', async (t) => {
  const { calls, call } = await openApi(t, openapi3('/api'));
  const detail = async (operation: string, parameters: string): Promise<string> =>
    String(errorOf(await call(operation, parameters))[2]);
  assert.match(await detail('getDevice', '{"nam":1}'), /\/parameters has "nam", which the operation does not have/u);
  assert.match(await detail('getDevice', '{}'), /\/parameters lacks "name"/u);
  assert.match(await detail('putDevice', '{"name":"a"}'), /\/parameters lacks "body"/u);
  assert.match(await detail('getDevice', '{"name":{"a":{}}}'), /nested values in "name"/u);
  assert.match(await detail('none', '{}'), /has no operation "none"/u);
  assert.match(await detail('options', '{}'), /has the method options/u);
  assert.equal(calls.length, 0);
});

test('a document that is no OpenAPI document, or that refers elsewhere, is an error', async (t) => {
  for (const [document, expected] of [
    [{ openapi: '4.0.0' }, /is no OpenAPI document of version 3\.x/u],
    [{ openapi: '3.1.0', paths: { '/a': { $ref: 'https://example.net/a' } } }, /\$ref to another document/u],
    [{ openapi: '3.1.0', paths: { '/a': { $ref: '#/paths/~1a' } } }, /\$ref that leads to no value/u],
    [{ openapi: '3.1.0', paths: { '/a': { $ref: '#/%' } } }, /\$ref with a malformed percent sequence/u],
  ] as const) {
    const { call } = await openApi(t, document);
    assert.match(String(errorOf(await call('x', '{}'))[2]), expected);
  }
});

test('a change whose document cannot be fetched again after a crash is unknown', async (t) => {
  const { gateway } = await openApi(t, 'neither: [');
  const args = { document: { endpoint: 'http://127.0.0.1:1/' }, operationId: 'putDevice' };
  assert.equal((await gateway.perform('openapi', args)).result.kind, 'error');
  assert.equal((await gateway.perform('openapi', args, { begunAt: Date.now() })).result.kind, 'unknown');
});

test('no address of a document has the value of a secret that its server echoes', async (t) => {
  const far = await upstream(t);
  const sealed = { key: sealedSecret('hush-hush-hush', { destinations: [`${far.url}/spec/`] }) };
  const { perform, placeholder } = await taskGateway(t, { far, sealed });
  const echoes: string[] = [];
  far.answer((request) => {
    if (request.target !== '/spec/api') return jsonReply('{}');
    echoes.push((request.header('authorization') ?? '').replace('Bearer ', ''));
    const paths = { '/x': { get: { operationId: 'x' } } };
    return jsonReply(JSON.stringify({ openapi: '3.1.0', servers: [{ url: `${far.url}/other/${echoes[0]}` }], paths }));
  });
  const endpoint = { uri: `${far.url}/spec/api`, authentication: { bearer: { token: placeholder('key') } } };
  outputOf(await perform('openapi', { document: { endpoint }, operationId: 'x' }));
  assert.deepEqual(echoes, ['hush-hush-hush']);
  assert.equal(far.requests.at(-1)?.target, '/other/***/x');
});
