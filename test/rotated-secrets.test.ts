// suite: waiting

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { assertProblem, instancesOf, relay, resultOf } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { basic, startGateway } from './support/gateway/start-gateway.ts';
import { temporaryFile } from './support/temporary-file.ts';
import { until } from './support/until.ts';
import { httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// Section 27 of the contract: a password rotates without a reload, and refused credentials are not sent again and again.

const far = await upstream({ after });
const names = ['ahead', 'query', 'action', 'locked', 'back', 'changed', 'elsewhere', 'none', 'crowd', 'burst', 'probed'];
const fileOf = Object.fromEntries(names.map((name) => [name, temporaryFile({ after }, 'password', `${name}-one`)]));
/** Looked at only after a refusal, so that a test decides when the gateway reads it. */
const quiet = (name: string): object => ({ exec: ['/bin/cat', fileOf[name]], ttl: '1d' });
const auth = (password: object): object => ({ type: 'basic', username: 'gw', password });
const gateway = await startGateway(
  { after },
  {
    adapters: names.map((name) => ({
      name,
      kind: 'rest',
      url: `${far.url}/${name}`,
      health: name === 'probed' ? { interval: '100ms' } : 'off',
      auth: name === 'none' ? { type: 'none' } : auth(name === 'ahead' ? { file: fileOf[name] } : quiet(name)),
    })),
  },
);

const params = { path: 'x', accept: 'application/json' };
const query = (name: string): Promise<Reply> => relay(gateway, 'restQuery', name, { params });
const action = (name: string): Promise<Reply> => relay(gateway, 'restAction', name, { params, body: { a: 1 } });
const passwordSent = (header: string | undefined): string =>
  Buffer.from(header?.slice('Basic '.length) ?? '', 'base64').toString();
/** Of one adapter instance: the passwords that arrived, and whether they came with a call (`x`) or a probe. */
const sentTo = (name: string): readonly string[] =>
  far.requests
    .filter(({ target }) => target.startsWith(`/${name}/`) || target === `/${name}`)
    .map(
      (one) =>
        `${one.method} ${one.target === `/${name}/x` ? 'call' : 'probe'} ${passwordSent(one.header('authorization')).slice(`gw:${name}-`.length)}`,
    );
/** The orchestrator takes these passwords alone. */
const accept = (...passwords: readonly string[]): void =>
  far.answer((one) =>
    passwords.some((password) => one.header('authorization') === basic('gw', password))
      ? jsonReply('{"a":1}')
      : httpReply({ status: 401 }),
  );
const rotate = (name: string, password = `${name}-two`): void => writeFileSync(fileOf[name] ?? '', password);
const refusedBy = (reply: Reply): unknown => assertProblem(reply, 502, 'upstream-error').upstream?.status;
const testAdapter = (name: string): Promise<Reply> =>
  gateway.send({ method: 'POST', target: `/adapters/${name}/test`, role: 'admin' });

describe('a password that rotates', () => {
  test('costs no call where the new value is there before the old one ends', async () => {
    accept('ahead-one', 'ahead-two');
    resultOf(await action('ahead'));
    rotate('ahead');
    await until('the new value is sent', async () => {
      resultOf(await action('ahead'));
      return sentTo('ahead').at(-1)?.endsWith('two');
    });
    accept('ahead-two');
    resultOf(await action('ahead'));
    instancesOf(await query('ahead'));
  });

  test('costs no query where the old one ends at the same time: the query is sent again with the new value', async () => {
    accept('query-two');
    rotate('query');
    instancesOf(await query('query'));
    assert.deepEqual(sentTo('query'), ['GET call one', 'GET call two']);
  });

  test('costs at most one action, which is never sent twice', async () => {
    accept('action-two');
    rotate('action');
    assert.equal(refusedBy(await action('action')), 401);
    resultOf(await action('action'));
    assert.deepEqual(sentTo('action'), ['POST call one', 'POST call two']);
  });

  test('makes calls that come while it is read wait for the new value', async () => {
    accept('crowd-two');
    rotate('crowd');
    const first = query('crowd');
    await until('the first has arrived', () => sentTo('crowd').length > 0);
    for (const reply of await Promise.all([first, ...Array.from({ length: 20 }, () => query('crowd'))])) instancesOf(reply);
    assert.ok(sentTo('crowd').filter((one) => one.endsWith('one')).length < 21);
  });
});

describe('credentials that the orchestrator refuses', () => {
  test('are sent twice by calls and once by a probe, and then no more', async () => {
    accept();
    assert.equal(refusedBy(await action('locked')), 401);
    assert.equal(refusedBy(await query('locked')), 401);
    for (let count = 0; count < 10; count += 1) {
      const reply = await (count % 2 === 0 ? query('locked') : action('locked'));
      assert.match(assertProblem(reply, 503, 'credentials-refused').detail, /"locked".*Nothing was sent/u);
      assert.match(reply.header('retry-after') ?? '', /^[1-9]\d*$/u);
    }
    assert.deepEqual(sentTo('locked'), ['POST call one', 'GET call one', 'GET probe one']);
  });

  test('are sent by one call at a time after a first 401, so that a crowd does not lock the account', async () => {
    accept();
    assert.equal(refusedBy(await action('burst')), 401);
    const replies = await Promise.all(Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? query : action)('burst')));
    assert.deepEqual(
      replies.map(({ status }) => status).toSorted((one, other) => one - other),
      [502, ...Array.from({ length: 9 }, () => 503)],
    );
    assert.deepEqual(
      sentTo('burst').map((one) => one.replace(/^\S+ /u, '')),
      ['call one', 'call one', 'probe one'],
    );
  });

  test('are sent again once a probe succeeds', async () => {
    accept();
    for (let count = 0; count < 2; count += 1) refusedBy(await query('back'));
    assertProblem(await query('back'), 503, 'credentials-refused');
    accept('back-one');
    assertProblem(await query('back'), 503, 'credentials-refused');
    assert.equal((await testAdapter('back')).status, 200);
    instancesOf(await query('back'));
  });

  test('are replaced by a new value at once', async () => {
    accept('changed-two');
    for (let count = 0; count < 2; count += 1) refusedBy(await query('changed'));
    assertProblem(await query('changed'), 503, 'credentials-refused');
    rotate('changed');
    await until('the source may be read again', async () => {
      await testAdapter('changed');
      return (await query('changed')).status === 200;
    });
    const sent = sentTo('changed');
    assert.equal(sent.at(-1), 'GET call two');
  });

  test('by probes alone count too, and the probes become rare', async () => {
    accept();
    await until('calls are refused', async () => (await query('probed')).status === 503);
    const before = sentTo('probed').length;
    assert.ok(before <= 4, String(before));
  });

  test('at some paths alone go on, since a probe is accepted', async () => {
    far.answer((one) => (one.target.endsWith('/x') ? httpReply({ status: 401 }) : jsonReply('{}')));
    for (let count = 0; count < 6; count += 1) assert.equal(refusedBy(await query('elsewhere')), 401);
    assert.equal(sentTo('elsewhere').filter((one) => one.includes('call')).length, 6);
  });

  test('are none where the adapter instance has none: each call is answered', async () => {
    accept();
    for (let count = 0; count < 4; count += 1) assert.equal(refusedBy(await query('none')), 401);
  });
});

test('a source that is away leaves the last value, which calls send', async () => {
  rmSync(fileOf['ahead'] ?? '');
  accept('ahead-two');
  await until('the log says so', () => gateway.stderr.some((line) => line.includes('a source of a secret fails')));
  resultOf(await action('ahead'));
  assert.match((await gateway.send({ target: '/readyz' })).text, /"secrets":\{"failing":1,"age":\d+\}/u);
  const metrics = await gateway.send({ target: '/metrics', role: 'admin' });
  assert.match(metrics.text, /^gateway_secret_sources_failing 1$/mu);
  assert.match(metrics.text, /^gateway_secret_age_seconds \d+$/mu);
  assert.ok(!gateway.stderr.some((line) => line.includes('ahead-two')));
});
