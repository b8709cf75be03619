import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertProblem, instancesOf, relay, resultOf } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { farSide, httpReply, jsonReply } from './support/far-sides/far-side.ts';
import { basic, startGateway } from './support/gateway/start-gateway.ts';

// Contract 7 and 10: the types of `auth` whose credentials the operator writes down. OAuth is adapter-oauth.test.ts.

const far = await farSide({ after });
const token = { type: 'token', token: 'first' };
const follows = ['follows', 'actions', 'back', 'action', 'refused', 'garbage', 'ill', 'shown', 'crowd'];
const fixed = {
  none: [{ type: 'none' }, undefined],
  basic: [{ type: 'basic', username: 'u', password: 'p' }, basic('u', 'p')],
  bearer: [{ type: 'bearer', token: 't' }, 'Bearer t'],
  header: [{ type: 'header', name: 'Authorization', value: 'Own v' }, 'Own v'],
} as const;
const gateway = await startGateway(
  { after },
  {
    adapters: [
      ...follows.map((name) => ({ name, kind: 'nso', url: far.url, auth: token })),
      ...Object.entries(fixed).map(([name, [auth]]) => ({ name, kind: 'rest', url: far.url, auth })),
    ],
  },
);

const accept = 'application/yang-data+json';
const query = (adapter: string): Promise<Reply> => relay(gateway, 'restQuery', adapter, { params: { path: 'x', accept } });
const action = (adapter: string): Promise<Reply> =>
  relay(gateway, 'restAction', adapter, { params: { path: 'x', accept }, body: {} });

/** From now on replies carry these tokens, one after the other and the last for ever; what is not taken is answered 401. */
function renew(tokens: readonly (string | readonly string[])[], refused: readonly string[] = []): void {
  let count = 0;
  far.answer((request) => {
    if (refused.includes(request.header('x-auth-token') ?? '')) return httpReply({ status: 401 });
    const next = tokens[Math.min(count, tokens.length - 1)];
    count += 1;
    return jsonReply('{}', { headers: next === undefined ? {} : { 'X-Auth-Token': next } });
  });
}
const shown = (): readonly (string | undefined)[] => far.requests.map((request) => request.header('x-auth-token'));

describe('X-Auth-Token', () => {
  test('is the configured one until a reply brings another, and then that one', async () => {
    renew(['second', 'third']);
    for (let count = 0; count < 3; count += 1) instancesOf(await query('follows'));
    assert.deepEqual(shown(), ['first', 'second', 'third']);
    renew([]);
    for (let count = 0; count < 2; count += 1) instancesOf(await query('follows'));
    assert.deepEqual(shown(), ['third', 'third']);
    assert.equal(far.requests[0]?.header('authorization'), undefined);
  });

  test('is renewed by the reply to an action as well, an error too', async () => {
    renew(['second']);
    resultOf(await action('actions'));
    far.answer(() => httpReply({ status: 404, headers: { 'X-Auth-Token': 'third' } }));
    assertProblem(await action('actions'), 502, 'upstream-error');
    renew([]);
    resultOf(await action('actions'));
    assert.deepEqual(shown(), ['third']);
  });

  test('that a reply brought and a 401 refuses gives way to the configured one: a query is sent once more', async () => {
    renew(['second']);
    instancesOf(await query('back'));
    renew([], ['second']);
    instancesOf(await query('back'));
    instancesOf(await query('back'));
    assert.deepEqual(shown(), ['second', 'first', 'first']);
  });

  test('that a reply brought and a 401 refuses gives way to the configured one: an action is not sent again', async () => {
    renew(['second']);
    resultOf(await action('action'));
    renew([], ['second']);
    const problem = assertProblem(await action('action'), 502, 'upstream-error');
    assert.equal(problem.upstream?.status, 401);
    assert.deepEqual(shown(), ['second']);
    resultOf(await action('action'));
    assert.deepEqual(shown(), ['second', 'first']);
  });

  test('that is refused as it was configured is an error at once, whatever the 401 brings', async () => {
    far.answer(() => httpReply({ status: 401, headers: { 'X-Auth-Token': 'evil' } }));
    for (const call of [query, action, query]) {
      const problem = assertProblem(await call('refused'), 502, 'upstream-error');
      assert.equal(problem.upstream?.status, 401);
    }
    assert.deepEqual(shown(), ['first', 'first', 'first']);
  });

  for (const [what, value] of [
    ['is empty', ''],
    ['has a space', 'a b'],
    ['is not ASCII', 'ü'],
    ['is over 8 KiB', 'x'.repeat(8_193)],
    ['comes twice', ['second', 'third']],
  ] as const) {
    test(`of a reply is passed over where it ${what}`, async () => {
      renew([value]);
      instancesOf(await query('garbage'));
      instancesOf(await query('garbage'));
      assert.deepEqual(shown(), ['first', 'first']);
    });
  }

  test('of a reply may have 8 KiB', async () => {
    renew(['y'.repeat(8_192)]);
    instancesOf(await query('ill'));
    instancesOf(await query('ill'));
    assert.deepEqual(shown(), ['first', 'y'.repeat(8_192)]);
  });

  test('of a reply is not shown to callers, nor a cookie that may hold it', async () => {
    far.answer(() => jsonReply('{}', { headers: { 'X-Auth-Token': 's3cret', 'Set-Cookie': 'token=s3cret', 'X-Other': 'o' } }));
    const reply = await relay(gateway, 'restRequest', 'shown', { params: { path: 'x', accept, method: 'GET' } });
    assert.equal(reply.status, 200);
    assert.match(reply.text, /"x-other":"o"/u);
    assert.ok(!`${reply.head}${reply.text}`.includes('s3cret'), reply.text);
  });

  test('may be renewed by many replies at once: each call goes with one that was brought', async () => {
    let count = 0;
    far.answer(() => {
      count += 1;
      return jsonReply('{}', { headers: { 'X-Auth-Token': `t${count}` } });
    });
    for (const reply of await Promise.all(Array.from({ length: 30 }, () => query('crowd')))) instancesOf(reply);
    assert.ok(shown().every((one) => one === 'first' || /^t\d+$/u.test(one ?? '')));
    instancesOf(await query('crowd'));
    assert.match(shown().at(-1) ?? '', /^t\d+$/u);
  });
});

for (const [type, [, value]] of Object.entries(fixed)) {
  test(`${type}: a 401 is an error at once, for nothing else could be shown`, async () => {
    far.answer(() => httpReply({ status: 401, headers: { 'X-Auth-Token': 'evil' } }));
    for (const call of [query, action]) assertProblem(await call(type), 502, 'upstream-error');
    assert.deepEqual(
      far.requests.map((request) => request.header('authorization')),
      [value, value],
    );
    assert.deepEqual(shown(), [undefined, undefined]);
  });
}
