import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertProblem, pointersOf, relay } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { farSide, httpReply, jsonReply } from './support/far-sides/far-side.ts';
import { basic, startGateway } from './support/gateway/start-gateway.ts';

// Contract 4a: POST /orchestrator_manager/restRequest/:adapterId.

const far = await farSide({ after });
const gateway = await startGateway(
  { after },
  {
    adapters: [
      { name: 'Local NSO', kind: 'nso', url: far.url, auth: { type: 'basic', username: 'gateway', password: 'far secret' } },
      { name: 'plain', kind: 'rest', url: far.url, auth: { type: 'none' } },
    ],
  },
);

const yang = 'application/yang-data+json';
const path = 'restconf/data/tailf-ncs:devices/device=ce0';
const methods = ['DELETE', 'GET', 'PATCH', 'POST', 'PUT'] as const;

interface Answer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string;
  readonly bodyEncoding?: string;
}

function request(body: object | string, adapter = 'Local NSO', headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
  return relay(gateway, 'restRequest', adapter, body, { headers });
}

const call = (method: string, more: object = {}): object => ({ params: { method, path, accept: yang }, ...more });

async function answerOf(bytes: Buffer, method = 'GET'): Promise<Answer> {
  far.answer(() => bytes);
  const reply = await request(call(method));
  assert.equal(reply.status, 200, reply.text);
  return reply.json() as Answer;
}

describe('the request', () => {
  for (const method of methods) {
    test(`${method} is sent to the path as written, with the adapter’s credentials`, async () => {
      far.answer(() => jsonReply('{}', { type: yang }));
      const target = `/${path}/x:y=10.0.0.0%2F24?dry-run=native&a=../b`;
      const reply = await request({ params: { method, path: target, accept: yang } });
      assert.equal(reply.status, 200, reply.text);
      assert.equal(far.request.method, method);
      assert.equal(far.request.target, target);
      assert.equal(far.request.header('accept'), yang);
      assert.equal(far.request.header('authorization'), basic('gateway', 'far secret'));
      assert.equal(far.request.body.length, 0);
    });
  }

  for (const method of ['PATCH', 'POST', 'PUT']) {
    test(`${method} sends the body byte for byte, as YANG data`, async () => {
      far.answer(() => httpReply({ status: 204 }));
      const body = '{ "tailf-ncs:device" :[{"port":22.0,"id":18446744073709551615,"a":1,"a":2}]}';
      const reply = await request(`{"params":{"method":"${method}","path":"${path}","accept":"${yang}"},"body":${body}}`);
      assert.equal(reply.status, 200, reply.text);
      assert.equal(far.request.body.toString(), body);
      assert.equal(far.request.header('content-type'), yang);
    });
  }

  test('sends the content type that is given', async () => {
    far.answer(() => httpReply({ status: 204 }));
    const params = { method: 'PATCH', path, accept: yang, contentType: 'application/yang-patch+json' };
    assert.equal((await request({ params, body: { a: 1 } })).status, 200);
    assert.equal(far.request.header('content-type'), 'application/yang-patch+json');
  });

  test('passes on three headers of the caller and no other', async () => {
    far.answer(() => httpReply({ status: 204 }));
    const headers = {
      'If-Match': '"1"',
      'If-Unmodified-Since': 'Wed, 21 Oct 2026 07:28:00 GMT',
      'X-Cisco-NSO-Commit-Params': 'e30=',
    };
    assert.equal((await request(call('DELETE'), 'plain', { ...headers, 'X-Custom': '1' })).status, 200);
    for (const [name, value] of Object.entries(headers)) assert.equal(far.request.header(name), value);
    assert.equal(far.request.header('x-custom'), undefined);
    assert.equal(far.request.header('authorization'), undefined);
  });

  for (const method of ['get', 'HEAD', 'OPTIONS', 'TRACE', '', 5]) {
    test(`the method ${JSON.stringify(method)} is refused`, async () => {
      far.answer(() => jsonReply('{}'));
      const problem = assertProblem(await request({ params: { method, path, accept: yang } }), 400, 'invalid-request');
      assert.deepEqual(pointersOf(problem), ['/params/method']);
      assert.equal(far.connections, 0);
    });
  }

  for (const given of ['', 'http://evil/x', '//evil', 'a/%2e%2e/b', 'a#b', 'a\\b', 'a b']) {
    test(`the path ${JSON.stringify(given)} is refused`, async () => {
      far.answer(() => jsonReply('{}'));
      const reply = await request({ params: { method: 'DELETE', path: given, accept: yang } });
      assert.deepEqual(pointersOf(assertProblem(reply, 400, 'invalid-request')), ['/params/path']);
      assert.equal(far.connections, 0);
    });
  }

  test('names all problems at once', async () => {
    const problem = assertProblem(
      await request({ params: { method: 'GET', path, accept: 5, x: 1 }, body: [], y: 1 }),
      400,
      'invalid-request',
    );
    assert.deepEqual(pointersOf(problem), ['/body', '/params/accept', '/params/x', '/y']);
    assertProblem(await request(call('GET'), 'nowhere'), 404, 'adapter-not-found');
  });
});

describe('the answer', () => {
  test('is the status code, the headers and the body as a string, JSON too', async () => {
    const body = '{ "a": 18446744073709551615, "a": 1.0 }\n';
    const answer = await answerOf(
      jsonReply(body, { type: yang, headers: { 'X-A': ['1', '2'], 'Set-Cookie': ['a=1', 'b=2'], ETag: '"7"' } }),
    );
    assert.deepEqual(Object.keys(answer).sort(), ['body', 'headers', 'statusCode']);
    assert.equal(answer.statusCode, 200);
    assert.equal(answer.body, body);
    assert.equal(answer.headers['x-a'], '1, 2');
    assert.equal(answer.headers['content-type'], yang);
    assert.equal(answer.headers['etag'], '"7"');
    assert.deepEqual(answer.headers['set-cookie'], ['a=1', 'b=2']);
  });

  test('has the empty string for no body', async () => {
    const answer = await answerOf(httpReply({ status: 204 }), 'DELETE');
    assert.equal(answer.statusCode, 204);
    assert.equal(answer.body, '');
  });

  test('has base64 for what is no text, and says so', async () => {
    const answer = await answerOf(httpReply({ headers: { 'Content-Type': 'image/png' }, body: Buffer.from([0, 255]) }));
    assert.equal(answer.body, 'AP8=');
    assert.equal(answer.bodyEncoding, 'base64');
  });

  for (const status of [400, 401, 403, 404, 409, 412, 500]) {
    for (const method of ['GET', 'PATCH']) {
      test(`is also an error status: ${status} of a ${method}`, async () => {
        far.answer(() => jsonReply('{"errors":{}}', { status, headers: { 'WWW-Authenticate': 'Basic realm="restconf"' } }));
        const reply = await request(call(method));
        assert.equal(reply.status, 200, reply.text);
        assert.equal(reply.header('x-upstream-status'), `${status}`);
        assert.equal(reply.header('www-authenticate'), undefined);
        const answer = reply.json() as Answer;
        assert.equal(answer.statusCode, status);
        assert.equal(answer.body, '{"errors":{}}');
        assert.equal(far.requests.length, 1);
      });
    }
  }

  test('is never a redirect followed', async () => {
    far.answer(() => httpReply({ status: 307, headers: { Location: '/elsewhere' } }));
    assertProblem(await request(call('PUT', { body: { a: 1 } })), 502);
    assert.equal(far.requests.length, 1);
  });
});

describe('where there is no answer', () => {
  for (const method of ['DELETE', 'PATCH', 'POST', 'PUT']) {
    test(`a ${method} that left has an unknown outcome and is not sent twice`, async () => {
      far.answer((_, socket) => void socket.resetAndDestroy());
      assertProblem(await request(call(method)), 502, 'outcome-unknown');
      assert.equal(far.requests.length, 1);
      far.answer(() => undefined);
      assertProblem(await request(call(method), 'plain', { Prefer: 'wait=1' }), 504, 'outcome-unknown');
      assert.equal(far.requests.length, 1);
    });
  }
});
