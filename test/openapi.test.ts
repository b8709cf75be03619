import assert from 'node:assert/strict';
import { glob, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Compile } from 'typebox/schema';
import { skipCodes } from '../src/automations/automation.ts';
import { errorCodes } from '../src/base/error-codes.ts';
import {
  type Content,
  type OpenApiDocument,
  operationsIn,
  type PlacedOperation,
} from '../src/http/documentation/openapi-document.ts';
import { statusesOf } from '../src/http/documentation/openapi-errors.ts';
import { generateClient, generatedFolder, staleFiles } from '../tools/client/generator.ts';
import { post, relay, restCall } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { startGateway, type TestRole, testPassword, testPasswordHash } from './support/gateway/start-gateway.ts';
import { httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// GET /openapi.json describes every route that is served; the console and docs/reference/http-api.md show the same to readers.

const far = await upstream({ after });
const gateway = await startGateway(
  { after },
  {
    adapters: [
      { name: 'Local NSO', kind: 'nso', url: far.url, auth: { type: 'none' }, denyPaths: { queries: ['denied'] } },
      { name: 'Broken', kind: 'nso', url: far.url, auth: { type: 'none' }, breaker: { failures: 1, openFor: '60s' } },
    ],
    config: {
      outbound: { allow: [far.authority] },
      access: { clients: [{ clientId: 'reporting', secretHash: testPasswordHash, roles: ['apiread'], groups: [] }] },
    },
  },
);
const documentReply = await gateway.send({ target: '/openapi.json' });
const document = documentReply.json() as OpenApiDocument;
const operations = operationsIn(document);

function operation(operationId: string): PlacedOperation {
  const found = operations.find((placed) => placed.operation.operationId === operationId);
  assert.ok(found, `no operation ${operationId}`);
  return found;
}

/** The faults of a value under a schema of the document; references are followed. */
function faults(schema: object, value: unknown): unknown {
  const [fits, errors] = Compile({ ...schema, components: document.components }).Errors(value);
  return fits ? [] : errors;
}

/** The keywords of JSON Schema that the test below compares. */
interface SchemaView {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly items?: SchemaView;
  readonly properties?: Readonly<Record<string, SchemaView>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | SchemaView;
}

/** The members of a schema by their path, with `!` where they are required. */
function fieldsOf(schema: SchemaView, path = ''): Record<string, string> {
  if (schema.items !== undefined) return fieldsOf(schema.items, `${path}[]`);
  const fields: Record<string, string> = {};
  for (const [key, member] of Object.entries(schema.properties ?? {})) {
    const name = path === '' ? key : `${path}.${key}`;
    fields[`${name}${schema.required?.includes(key) === true ? '!' : ''}`] = typeOf(member);
    Object.assign(fields, fieldsOf(member, name));
  }
  return fields;
}

function typeOf({ type, format, items, additionalProperties, enum: values }: SchemaView): string {
  if (values !== undefined) return values.join(' ');
  if (typeof additionalProperties === 'object') return `object of ${additionalProperties.type}`;
  if (items?.properties === undefined && items !== undefined) return `array of ${items.type}`;
  return format ?? type ?? '';
}

function requestSchema(operationId: string): SchemaView {
  return inlined(media(operation(operationId).operation.requestBody?.content, 'application/json').schema);
}

function successSchema(operationId: string): SchemaView {
  return inlined(media(operation(operationId).operation.responses[200]?.content, 'application/json').schema);
}

/** A schema with each reference to a component replaced by that component. */
function inlined<Value>(value: Value): Value {
  const text = JSON.stringify(value, (_key, member: unknown) => {
    const name = /^#\/components\/schemas\/(\w+)$/u.exec((member as { $ref?: string } | null)?.$ref ?? '')?.[1];
    return name === undefined ? member : inlined(document.components.schemas[name]);
  });
  return JSON.parse(text) as Value;
}

/** Every object in a JSON value. */
function* objectsIn(value: unknown): Generator<Readonly<Record<string, unknown>>> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value as Readonly<Record<string, unknown>>;
  for (const member of Object.values(value)) yield* objectsIn(member);
}

function media(content: Content | undefined, contentType: string): Content[string] {
  const [essence = ''] = contentType.split(';');
  const found = content?.[essence];
  assert.ok(found, `${essence} is not documented`);
  return found;
}

/** Compares a reply with the document: status, media type, body, and every header that is not HTTP's own. */
function assertDocumented(operationId: string, status: number, reply: Reply): void {
  assert.equal(reply.status, status, reply.text.slice(0, 500));
  const response = operation(operationId).operation.responses[status];
  assert.ok(response, `${operationId} does not document ${status}`);
  const { schema } = media(response.content, reply.header('content-type') ?? '');
  const body = reply.header('content-type')?.includes('json') === true ? reply.json() : reply.text;
  assert.deepEqual(faults(schema, body), []);
  const ofHttp = new Set(['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding']);
  const documented = new Set(Object.keys(response.headers).map((name) => name.toLowerCase()));
  for (const [name] of reply.headers) {
    const lower = name.toLowerCase();
    assert.ok(ofHttp.has(lower) || documented.has(lower), `${operationId} ${status} does not document the header ${name}`);
  }
}

describe('the OpenAPI document', () => {
  test('is valid OpenAPI 3.1 by a published validator', async () => {
    const verdict = await new Validator().validate(documentReply.json() as Record<string, unknown>);
    assert.deepEqual(verdict.errors ?? [], []);
    assert.equal(verdict.valid, true);
  });

  test('says under which license it is and who answers questions', () => {
    assert.deepEqual(document.info.license, { name: 'Apache License 2.0', identifier: 'Apache-2.0' });
    assert.deepEqual(document.info.contact, { name: 'The operator of this gateway' });
  });

  test('has no keyword next to a $ref, because generators drop it', () => {
    for (const object of objectsIn(document)) if ('$ref' in object) assert.deepEqual(Object.keys(object), ['$ref']);
  });

  test('has a named schema for every JSON body, and for every object in one', () => {
    for (const { path, operation: placed } of operations) {
      for (const described of [placed.requestBody, ...Object.values(placed.responses)]) {
        for (const [type, { schema }] of Object.entries(described?.content ?? {})) {
          if (type !== 'application/json' && type !== 'application/merge-patch+json') continue;
          assert.match(String(schema['$ref']), /^#\/components\/schemas\/[A-Z]\w+$/u, `${path} ${type}`);
        }
      }
    }
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      const [, ...below] = objectsIn(schema);
      // An object without listed members is a map: its keys are data.
      const inline = below.filter((object) => object['type'] === 'object' && Object.keys(object['properties'] ?? {}).length > 0);
      assert.deepEqual(inline, [], name);
    }
  });

  test('gives each error as Problem with its status and its possible codes', () => {
    for (const { path, operation: described } of operations) {
      for (const [status, response] of Object.entries(described.responses)) {
        const schema = response.content?.['application/problem+json']?.schema;
        if (schema === undefined) continue;
        const narrowed = { status: { const: Number(status) }, code: { type: 'string', enum: response['x-error-codes'] } };
        const own = { type: 'object', required: ['status', 'code'], properties: narrowed };
        assert.deepEqual(schema, { allOf: [{ $ref: '#/components/schemas/Problem' }, own] }, `${path} ${status}`);
      }
    }
  });

  test('names every operation once', () => {
    const ids = operations.map((placed) => placed.operation.operationId);
    assert.deepEqual([...new Set(ids)], ids);
  });

  test('has the path of every route in the source, and no other', async () => {
    const urls: string[] = [];
    for await (const file of glob('src/http/routes/**/*.ts', { cwd: new URL('..', import.meta.url) })) {
      const source = await readFile(new URL(`../${file}`, import.meta.url), 'utf8');
      for (const [, url = ''] of source.matchAll(/(?:route\('[A-Z]+ |^ {2}rest\w+: ')(\/[^']*)'/gm))
        urls.push(url.replaceAll(/:(\w+)/g, '{$1}'));
    }
    assert.deepEqual(Object.keys(document.paths).sort(), [...new Set(urls)].sort());
  });

  test('has the methods of the Allow header of each path, and no other', async () => {
    for (const [path, item] of Object.entries(document.paths)) {
      const reply = await gateway.send({ method: 'OPTIONS', target: path.replace('{adapterId}', 'Local%20NSO') });
      assert.equal(reply.status, 405, path);
      const allowed = (reply.header('allow') ?? '').split(', ').filter((method) => method !== 'HEAD');
      const documented = Object.keys(item).map((method) => method.toUpperCase());
      assert.deepEqual(allowed.sort(), documented.sort(), path);
    }
  });

  test('has every error code of the table, with its status', () => {
    assert.deepEqual(Object.keys(document['x-error-codes']), Object.keys(errorCodes));
    const found = new Set<string>();
    const responses = [
      ...operations.flatMap((placed) => Object.entries(placed.operation.responses)),
      ...Object.values(document.components.responses).map((response) => ['404', response] as const),
    ];
    for (const [status, response] of responses) {
      for (const code of response['x-error-codes'] ?? []) {
        const statuses = statusesOf(code);
        assert.ok(statuses.includes(Number(status)), `${code} is documented under ${status}`);
        found.add(code);
      }
    }
    assert.deepEqual(
      Object.keys(errorCodes).filter((code) => !found.has(code)),
      ['secret-altered', 'no-dry-run'],
      'the audit log and errors of runs alone have these codes',
    );
  });

  test('has the fields of the specification, with their types, and which of them are required', () => {
    const params = { 'params!': 'object', 'params.path!': 'string', 'params.accept!': 'string' };
    assert.deepEqual(fieldsOf(requestSchema('restCall')), {
      'uri!': 'string',
      'verb!': 'DELETE GET PATCH PUT POST',
      user: 'string',
      password: 'string',
      headers: 'object of string',
      body: 'object',
      'responseHeaders!': 'boolean',
    });
    assert.deepEqual(fieldsOf(requestSchema('restAction')), { ...params, 'params.contentType': 'string', 'body!': 'object' });
    assert.deepEqual(fieldsOf(requestSchema('restQuery')), params);
    assert.deepEqual(fieldsOf(successSchema('restCall')), { 'response!': 'string' });
    assert.deepEqual(fieldsOf(successSchema('restAction')), { '[].result!': 'string' });
    assert.deepEqual(fieldsOf(successSchema('restQuery')), {
      'result!': 'array',
      'result[].instance_data!': 'object of string',
    });
    assert.deepEqual(fieldsOf(successSchema('listAutomations')), {
      'list!': 'array',
      'list[]._id!': 'string',
      'list[].name!': 'string',
      'list[].data': 'object',
      'list[].data.gbac': 'object',
      'list[].data.gbac.write': 'array of string',
      'list[].data.gbac.read': 'array of string',
      'list[].data.lastUpdated': 'date-time',
      'list[].data.owner': 'string',
      'list[].data.scheduledBy': 'string',
      'list[].data.description': 'string',
      'list[].data.workflowId': 'string',
      'list[].data.workflowVersion': 'string',
      'list[].data.formId': 'string',
      'list[].data.scheduleFrom': 'date-time',
      'list[].data.timeZone': 'string',
      'list[].data.cron': 'string',
      'list[].data.input': 'object',
      'list[].lastModifiedBy': 'string',
      'list[].lastRunAt': 'date-time',
      'list[].lastRuns': 'array',
      'list[].lastRuns[].endedAt': 'date-time',
      'list[].lastRuns[].id!': 'string',
      'list[].lastRuns[].status!': 'pending running waiting suspended cancelled faulted completed',
      'list[].nextRunAt': 'date-time',
      'list[].repeatInterval': 'string',
      'list[].lastSkip': 'object',
      'list[].lastSkip.due!': 'date-time',
      'list[].lastSkip.code!': skipCodes.join(' '),
      'list[].lastSkip.reason!': 'string',
      'total!': 'integer',
      'skip!': 'integer',
      'limit!': 'integer',
    });
  });

  test('states the roles of the specification', () => {
    assert.deepEqual(operation('restCall').operation['x-roles'], ['admin', 'engineering']);
    assert.deepEqual(operation('restAction').operation['x-roles'], ['admin']);
    assert.deepEqual(operation('restQuery').operation['x-roles'], ['admin']);
    assert.deepEqual(operation('listAutomations').operation['x-roles'], ['admin', 'other', 'readonly', 'apiread']);
  });

  test('asks for credentials exactly where a caller without them is refused', async () => {
    for (const { method, path, operation: described } of operations) {
      const reply = await gateway.send({ method: method.toUpperCase(), target: path.replace('{adapterId}', 'Local%20NSO') });
      assert.equal(reply.status === 401 && reply.text.includes('unauthenticated'), described.security === undefined, path);
      assert.equal(described['x-roles'] === 'everyone', described.security?.length === 0, path);
    }
  });

  test('describes every path parameter, and gives an example that fits its own schemas', () => {
    for (const { path, operation: described } of operations) {
      for (const parameter of described.parameters) {
        if ('in' in parameter) assert.notEqual(parameter.description, '', `${path} ${parameter.name}`);
        if ('in' in parameter && parameter.example !== undefined) {
          assert.deepEqual(faults(parameter.schema, parameter.example), [], parameter.name);
        }
      }
      const success = Object.entries(described.responses).find(([status]) => status.startsWith('2'))?.[1];
      for (const content of [described.requestBody?.content, success?.content]) {
        for (const { schema, example } of Object.values(content ?? {})) {
          assert.notEqual(example, undefined, `${described.operationId} lacks an example`);
          assert.deepEqual(faults(schema, example), [], described.operationId);
        }
      }
    }
  });

  test('names the session cookie that /login sets', async () => {
    const reply = await login('admin');
    const { session } = document.components.securitySchemes as { session: { name: string } };
    assert.ok(reply.header('set-cookie')?.startsWith(`${session.name}=`));
  });
});

test('a 4xx is for a fault of the request, 502 and 504 for the upstream, 503 for what cannot take the call now', () => {
  const upstream = /^(?:upstream-|response-too-large|too-many-redirects|redirect-refused|stream-refused|outcome-unknown)/;
  for (const [code, { status }] of Object.entries(errorCodes)) {
    assert.equal(status === 502 || status === 504, upstream.test(code), code);
    assert.ok(status < 500 || [500, 502, 503, 504].includes(status), code);
  }
});

function login(role: TestRole, password = testPassword): Promise<Reply> {
  const body = JSON.stringify({ username: `${role}-user`, password });
  return gateway.send({ method: 'POST', target: '/login', headers: { 'Content-Type': 'application/json' }, body });
}

function token(form: string): Promise<Reply> {
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  return gateway.send({ method: 'POST', target: '/oauth/token', headers, body: form });
}

describe('the document describes the replies', () => {
  const params = { path: 'restconf/data/x', accept: 'application/yang-data+json' };
  const call = { uri: far.url, verb: 'GET', responseHeaders: true };

  test('for the relay routes', async () => {
    const headers = { ETag: '"1"', Location: '/x', 'Set-Cookie': 'a=b', Server: 'far' };
    far.answer(() => jsonReply('{"a":[{"b":1}]}', { headers }));
    assertDocumented('restCall', 200, await restCall(gateway, call));
    assertDocumented('restAction', 200, await relay(gateway, 'restAction', 'Local NSO', { params, body: {} }));
    assertDocumented('restQuery', 200, await relay(gateway, 'restQuery', 'Local NSO', { params }));
    const request = { params: { ...params, method: 'PUT' }, body: { a: 1 } };
    assertDocumented('restRequest', 200, await relay(gateway, 'restRequest', 'Local NSO', request));
    far.answer(() => httpReply({ body: Buffer.from([0xff, 0]), headers: { 'Content-Type': 'application/octet-stream' } }));
    assertDocumented('restCall', 200, await restCall(gateway, call));
    assertDocumented('restRequest', 200, await relay(gateway, 'restRequest', 'Local NSO', request));
  });

  test('for their errors', async () => {
    far.answer(() => jsonReply('{"ietf-restconf:errors":{"error":[{"error-tag":"invalid-value"}]}}', { status: 404 }));
    assertDocumented('restQuery', 502, await relay(gateway, 'restQuery', 'Local NSO', { params }));
    assertDocumented('restAction', 502, await relay(gateway, 'restAction', 'Local NSO', { params, body: {} }));
    far.answer((_request, socket) => void socket.destroy());
    assertDocumented('restAction', 502, await relay(gateway, 'restAction', 'Local NSO', { params, body: {} }));
    assertDocumented('restQuery', 404, await relay(gateway, 'restQuery', 'unknown', { params }));
    const denied = { params: { ...params, path: 'denied' } };
    assertDocumented('restQuery', 403, await relay(gateway, 'restQuery', 'Local NSO', denied));
    assertDocumented('restCall', 403, await restCall(gateway, { ...call, uri: 'http://127.0.0.1:1/' }));
    assertDocumented('restCall', 403, await restCall(gateway, call, { role: 'other' }));
    assertDocumented('restCall', 400, await restCall(gateway, { uri: 'x', more: 1 }));
    assertDocumented('restCall', 400, await restCall(gateway, '{'));
    assertDocumented('restCall', 401, await gateway.send({ method: 'POST', target: '/tools/restCall', body: '{}' }));
    const text = { 'Content-Type': 'text/plain' };
    assertDocumented('restCall', 415, await restCall(gateway, call, { headers: text }));
    assertDocumented('restCall', 413, await restCall(gateway, call, { headers: { 'Content-Length': '999999999' } }));
    assertDocumented('restCall', 431, await restCall(gateway, call, { headers: { 'X-Large': 'x'.repeat(20_000) } }));
    assertDocumented('restCall', 405, await gateway.send({ target: '/tools/restCall' }));
  });

  test('for calls that the breaker of a node refuses', async () => {
    far.answer(() => httpReply({ status: 500, body: 'ill' }));
    const params = { path: 'x', accept: '*/*' };
    await relay(gateway, 'restQuery', 'Broken', { params });
    for (const [operationId, body] of [
      ['restQuery', { params }],
      ['restAction', { params, body: {} }],
      ['restRequest', { params: { ...params, method: 'GET' } }],
    ] as const) {
      const reply = await relay(gateway, operationId, 'Broken', body);
      assert.equal((reply.json() as { readonly code: string }).code, 'adapter-unavailable', reply.text);
      assertDocumented(operationId, 503, reply);
    }
  });

  test('for an error of an upstream with a binary body', async () => {
    const binary = { status: 500, body: Buffer.from([0xff, 0]), headers: { 'Content-Type': 'application/octet-stream' } };
    far.answer(() => httpReply(binary));
    for (const reply of [
      await relay(gateway, 'restAction', 'Local NSO', { params, body: {} }),
      await relay(gateway, 'restAction', 'Local NSO', { params, body: {} }, { headers: { 'Idempotency-Key': 'binary' } }),
      await relay(gateway, 'restAction', 'Local NSO', { params, body: {} }, { headers: { 'Idempotency-Key': 'binary' } }),
    ]) {
      assert.equal(reply.header('x-upstream-body-encoding'), 'base64');
      assertDocumented('restAction', 502, reply);
    }
  });

  test('for a reply that is replayed under its Idempotency-Key', async () => {
    const post = { uri: far.url, verb: 'POST', body: {}, responseHeaders: false };
    const twice = async (key: string, call: (headers: Readonly<Record<string, string>>) => Promise<Reply>): Promise<Reply> => {
      const first = await call({ 'Idempotency-Key': key });
      const again = await call({ 'Idempotency-Key': key });
      assert.deepEqual([again.status, again.header('idempotency-replayed')], [first.status, 'true']);
      return again;
    };
    const act = (headers: Readonly<Record<string, string>>): Promise<Reply> =>
      relay(gateway, 'restAction', 'Local NSO', { params, body: {} }, { headers });
    far.answer(() => jsonReply('{}'));
    assertDocumented('restAction', 200, await twice('fine', act));
    far.answer(() => jsonReply('{}', { status: 400 }));
    assertDocumented('restAction', 502, await twice('refused', act));
    far.answer(() => httpReply({ status: 307, headers: { Location: 'http://127.0.0.1:1/' } }));
    assertDocumented('restAction', 502, await twice('redirected', act));
    assertDocumented('restCall', 403, await twice('denied', (headers) => restCall(gateway, post, { headers })));
  });

  test('for a key whose call is in flight', async () => {
    const [arrived, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<Buffer>()];
    far.answer(() => {
      arrived.resolve();
      return answer.promise;
    });
    const act = (): Promise<Reply> =>
      relay(gateway, 'restAction', 'Local NSO', { params, body: {} }, { headers: { 'Idempotency-Key': 'under-way' } });
    const first = act();
    await arrived.promise;
    const again = await act();
    answer.resolve(jsonReply('{}'));
    assertDocumented('restAction', 409, again);
    assertDocumented('restAction', 200, await first);
  });

  test('for the routes that change the catalogue', async () => {
    const list = '/automation_catalog/automations';
    const send = (method: string, target: string, type = 'application/json', more: Readonly<Record<string, string>> = {}) =>
      gateway.send({ method, target, role: 'admin', headers: { 'Content-Type': type, ...more }, body: '{"name":"n"}' });
    const created = await send('POST', list);
    assertDocumented('createAutomation', 201, created);
    const one = created.header('location') ?? '';
    assertDocumented('createAutomation', 409, await send('POST', list));
    assertDocumented('readAutomation', 200, await gateway.send({ target: one, role: 'admin' }));
    assertDocumented('replaceAutomation', 200, await send('PUT', one));
    assertDocumented('replaceAutomation', 415, await send('PUT', one, 'text/plain'));
    assertDocumented('replaceAutomation', 412, await send('PUT', one, 'application/json', { 'If-Match': '"other"' }));
    const types = ['application/merge-patch+json', 'application/json'];
    assert.deepEqual(Object.keys(operation('patchAutomation').operation.requestBody?.content ?? {}), types);
    for (const type of types) assertDocumented('patchAutomation', 200, await send('PATCH', one, type));
    const other = await send('PATCH', one, 'text/plain');
    assert.ok(other.header('accept-patch') !== undefined && other.header('accept') === undefined);
    assertDocumented('patchAutomation', 415, other);
  });

  test('for the routes of workflows', async () => {
    const list = '/automation_catalog/workflows';
    const send = (method: string, target: string, version = '1.0.0') => {
      const name = { dsl: '1.0.3', namespace: 'lab', name: 'documented', version, title: 'Documented' };
      const body = JSON.stringify({ document: name, do: [{ a: { set: { b: '$' } } }] });
      return gateway.send({ method, target, role: 'admin', headers: { 'Content-Type': 'application/json' }, body });
    };
    const created = await send('POST', list);
    assertDocumented('createWorkflow', 201, created);
    const one = created.header('location') ?? '';
    assertDocumented('createWorkflow', 400, await send('POST', list, '1'));
    assertDocumented('checkWorkflow', 200, await send('POST', `${list}/check`, '1'));
    assertDocumented('listWorkflows', 200, await gateway.send({ target: list, role: 'admin' }));
    assertDocumented('readWorkflow', 200, await gateway.send({ target: one, role: 'admin' }));
    assert.equal((await gateway.send({ method: 'DELETE', target: one, role: 'admin' })).status, 204);
    assertDocumented('deleteWorkflow', 404, await gateway.send({ method: 'DELETE', target: one, role: 'admin' }));
  });

  test('for the routes of runs', async () => {
    const send = (method: string, target: string, type: string, body: string): Promise<Reply> =>
      gateway.send({ method, target, role: 'admin', headers: { 'Content-Type': type }, body });
    const json = 'application/json';
    const created = await send('POST', '/automation_catalog/automations', json, '{"name":"without a workflow"}');
    const one = created.header('location') ?? '';
    assertDocumented('runAutomation', 409, await send('POST', `${one}/run`, json, '{}'));
    assertDocumented('runAutomation', 404, await send('POST', '/automation_catalog/automations/none/run', json, '{}'));
    assertDocumented('runAutomation', 400, await send('POST', `${one}/run`, json, '{"input":1}'));
    assertDocumented('listRuns', 200, await gateway.send({ target: '/runs', role: 'admin' }));
    assertDocumented('listRuns', 400, await gateway.send({ target: '/runs?limit=x', role: 'admin' }));
    assertDocumented('readRun', 404, await gateway.send({ target: '/runs/none', role: 'admin' }));
    assertDocumented('followRun', 404, await gateway.send({ target: '/runs/none/events', role: 'admin' }));
    assertDocumented('resumeRun', 400, await send('POST', '/runs/none/resume', json, '{"as":"done"}'));
    assertDocumented('sendEvents', 400, await send('POST', '/events', 'application/cloudevents+json', '{}'));
  });

  test('for the routes of operators', async () => {
    assertDocumented('listAdapters', 200, await gateway.send({ target: '/adapters', role: 'admin' }));
    assertDocumented('listAudit', 200, await gateway.send({ target: '/audit', role: 'admin' }));
    const reloaded = await gateway.send({ method: 'POST', target: '/adapters/reload', role: 'admin' });
    assertDocumented('reloadAdapters', reloaded.status, reloaded);
  });

  test('for the routes of callers', async () => {
    assertDocumented('login', 200, await login('admin'));
    assertDocumented('login', 401, await login('admin', 'wrong'));
    assertDocumented('whoami', 200, await gateway.send({ target: '/whoami', role: 'other' }));
    assertDocumented('whoami', 400, await gateway.send({ target: '/whoami?token=x', role: 'other' }));
    const secret = encodeURIComponent(testPassword);
    const form = `grant_type=client_credentials&client_id=reporting&client_secret=${secret}`;
    assertDocumented('issueToken', 200, await token(form));
    assertDocumented('issueToken', 400, await token('grant_type=password'));
    assertDocumented('issueToken', 401, await token(`${form}x`));
    const { token: bearer } = (await login('other')).json() as { token: string };
    const headers = { Authorization: `Bearer ${bearer}` };
    assertDocumented('logout', 200, await gateway.send({ method: 'POST', target: '/logout', headers }));
  });

  test('for the routes that only read', async () => {
    for (const [operationId, target] of [
      ['healthz', '/healthz'],
      ['readyz', '/readyz'],
      ['metrics', '/metrics'],
      ['openapi', '/openapi.json'],
      ['listAutomations', '/automation_catalog/automations?limit=5'],
    ] as const) {
      assertDocumented(operationId, 200, await gateway.send({ target, role: 'admin' }));
    }
    assertDocumented(
      'listAutomations',
      400,
      await gateway.send({ target: '/automation_catalog/automations?x=1', role: 'admin' }),
    );
    const body = { method: 'POST', target: '/automation_catalog/automations', role: 'admin' } as const;
    assertDocumented('listAutomations', 405, await gateway.send({ ...body, method: 'OPTIONS' }));
  });

  test('for a path without a route', async () => {
    const reply = await post(gateway, '/nowhere', {});
    const { schema } = media(document.components.responses['NotFound']?.content, reply.header('content-type') ?? '');
    assert.equal(reply.status, 404);
    assert.deepEqual(faults(schema, reply.json()), []);
  });
});

test('the client of this repository is made from the document', async () => {
  const made = await mkdtemp(join(tmpdir(), 'gateway-client-'));
  after(() => rm(made, { recursive: true }));
  await generateClient(document, made);
  assert.deepEqual(await staleFiles(made, generatedFolder), [], 'run npm run client');
});
