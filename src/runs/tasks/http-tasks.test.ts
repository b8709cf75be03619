import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { valueText } from '../../../test/support/callers/json-text.ts';
import { errorOf, outputOf, taskGateway } from '../../../test/support/runs/call-tasks.ts';
import { httpReply, jsonReply } from '../../../test/support/upstreams/upstream.ts';

const params = { path: 'restconf/data/x', accept: 'application/yang-data+json', method: 'PUT' };

test('http sends method, headers, query, credentials and body as the task has them', async (t) => {
  const { far, perform } = await taskGateway(t);
  const end = await perform(
    'http',
    `{"method":"post","endpoint":{"uri":"${far.url}/a?b=1","authentication":{"basic":{"username":"u","password":"p"}}},` +
      `"headers":{"X-Number":1.10},"query":{"c":18446744073709551615,"d":["x y",true],"e":null},"body":[1.0]}`,
  );
  assert.deepEqual(outputOf(end), {});
  const { method, target, body } = far.request;
  const header = (name: string): string | undefined => far.request.header(name);
  assert.deepEqual([method, target, body.toString()], ['POST', '/a?b=1&c=18446744073709551615&d=x%20y&d=true', '[1.0]']);
  assert.deepEqual([header('x-number'), header('authorization')], ['1.10', 'Basic dTpw']);
  const bearer = { uri: far.url, authentication: { bearer: { token: 'abc' } } };
  await perform('http', { method: 'GET', endpoint: bearer });
  assert.equal(far.requests[1]?.header('authorization'), 'Bearer abc');
});

test('http gives the content as a value, the response, or the bytes in base64', async (t) => {
  const { far, perform } = await taskGateway(t);
  far.answer(() =>
    httpReply({ headers: { 'Content-Type': 'application/json; charset=iso-8859-1' }, body: Buffer.from('"\u00fc"', 'latin1') }),
  );
  const call = { method: 'GET', endpoint: far.url };
  assert.equal(outputOf(await perform('http', call)), 'ü');
  const raw = outputOf(await perform('http', { ...call, output: 'raw' }));
  assert.deepEqual(Buffer.from(String(raw), 'base64'), Buffer.from('"\u00fc"', 'latin1'));
  const { statusCode, content } = outputOf(await perform('http', { ...call, output: 'response' })) as Record<string, unknown>;
  assert.deepEqual([statusCode, content], [200, 'ü']);
});

test('a redirect of http is an error, and with redirect: true it is followed', async (t) => {
  const { far, perform } = await taskGateway(t);
  far.answer(({ target }) =>
    target === '/new' ? jsonReply('{"new":1}') : httpReply({ status: 302, headers: { Location: `${far.url}/new` } }),
  );
  const call = { method: 'GET', endpoint: `${far.url}/old` };
  const [type, status, detail] = errorOf(await perform('http', call));
  assert.deepEqual([type, status], ['communication', 302]);
  assert.match(String(detail), /redirect: true/u);
  assert.deepEqual(
    far.requests.map(({ target }) => target),
    ['/old'],
  );
  assert.deepEqual(outputOf(await perform('http', { ...call, redirect: true })), { new: 1 });
  far.answer(() => httpReply({ status: 304 }));
  assert.equal(outputOf(await perform('http', { ...call, redirect: true })), null, 'a 3xx that leads nowhere is no error');
  assert.deepEqual(errorOf(await perform('http', call)).slice(0, 2), ['communication', 304]);
});

test('http treats 4xx and 5xx as errors, also with output: response', async (t) => {
  const { far, perform } = await taskGateway(t);
  far.answer(() => httpReply({ status: 404 }));
  const call = { method: 'GET', endpoint: far.url, output: 'response', redirect: true };
  assert.deepEqual(errorOf(await perform('http', call)).slice(0, 2), ['communication', 404]);
});

test('a secret that an upstream echoes is masked, in the output and in an error', async (t) => {
  const secrets = { login: 'correct-horse' };
  const { far, perform } = await taskGateway(t, { secrets });
  far.answer((request) => {
    const basic = request.header('authorization') ?? '';
    return jsonReply(`{"\\u0063orrect-horse":"x correct-hors\\u0065 ${basic}","n":1.10}`, {
      headers: { 'X-Echo': 'correct-horse' },
    });
  });
  const basic = { username: 'user', password: secrets.login };
  const call = { method: 'GET', endpoint: { uri: far.url, authentication: { basic } }, output: 'response' };
  const { result } = await perform('http', call);
  assert.ok(result.kind === 'ok');
  assert.doesNotMatch(result.output, /horse|Y29ycmVjdC1ob3JzZ/u);
  assert.match(result.output, /"content":\{"\*\*\*":"x \*\*\* Basic [\w=]*\*\*\*[\w=]*","n":1\.10\}/u);
  assert.equal(far.request.header('authorization'), 'Basic dXNlcjpjb3JyZWN0LWhvcnNl', 'the upstream gets the secret itself');
  const error = '{"ietf-restconf:errors":{"error":[{"error-tag":"operation-failed","error-message":"no correct-horse"}]}}';
  far.answer(() => jsonReply(error, { status: 500, type: 'application/yang-data+json' }));
  const [, , detail] = errorOf(await perform('orchestratorQuery', { adapter: 'NSO', params }));
  assert.equal(detail, 'upstream-error: The orchestrator answered 500: operation-failed: no ***.');
});

test('what a call sends and what it gets pass through without the loss of a digit', async (t) => {
  const { far, perform } = await taskGateway(t);
  let activity = 10;
  await fc.assert(
    fc.asyncProperty(valueText, valueText, async (sent, got) => {
      activity += 1;
      far.answer(() => jsonReply(got, { type: 'application/yang-data+json' }));
      const { result } = await perform(
        'orchestratorRequest',
        `{"adapter":"NSO","params":${JSON.stringify(params)},"body":${sent}}`,
        { activity },
      );
      assert.deepEqual(result, { kind: 'ok', output: got.trim() });
      assert.equal(far.request.body.toString(), sent);
    }),
    { numRuns: 100 },
  );
});

test('an external schema is fetched by the way of restCall: JSON as it is, and YAML as JSON with its digits', async (t) => {
  const { far, fetchDocument } = await taskGateway(t, { secrets: { token: 'the-token' } });
  far.answer(() => jsonReply('{"maximum": 1.10}'));
  const endpoint = { uri: far.url, authentication: { bearer: { token: 'the-token' } } };
  assert.deepEqual(await fetchDocument(endpoint), { document: '{"maximum": 1.10}' });
  assert.equal(far.request.header('authorization'), 'Bearer the-token');
  far.answer(() =>
    httpReply({ headers: { 'Content-Type': 'application/yaml' }, body: 'type: object\nmaximum: 18446744073709551615\n' }),
  );
  assert.deepEqual(await fetchDocument(endpoint), { document: '{"type":"object","maximum":18446744073709551615}' });
  far.answer(() => httpReply({ body: '{"a":\n  b: [' }));
  const broken = await fetchDocument(endpoint);
  assert.match('error' in broken ? String(broken.error.detail) : '', /neither JSON nor YAML: line /u);
  far.answer(() => httpReply({ body: '<html>sorry</html>' }));
  const page = await fetchDocument(endpoint);
  assert.match('error' in page ? String(page.error.detail) : '', /a text alone/u);
  far.answer(() => httpReply({ status: 404 }));
  const missing = await fetchDocument(endpoint);
  assert.equal('error' in missing && missing.error.status, 404);
  const denied = await fetchDocument({ uri: 'http://127.0.0.1:1/' });
  assert.match('error' in denied ? String(denied.error.detail) : '', /^destination-denied: /u);
});
