import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { test } from 'node:test';
import { GatewayError } from '#base/gateway-error.ts';
import { createResolver } from './resolver.ts';

type Done = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void;

/** A resolver whose answers come from the test. */
interface HeldLookup {
  readonly lookup: (host: string, done: Done) => void;
  readonly asked: readonly string[];
  readonly answer: (host: string, ...addresses: readonly string[]) => void;
  readonly fail: (host: string, code: string) => void;
}

function heldLookup(): HeldLookup {
  const waiting = new Map<string, Done>();
  const asked: string[] = [];
  const take = (host: string): Done => {
    const done = waiting.get(host);
    assert.ok(done, `${host} is not being looked up`);
    waiting.delete(host);
    return done;
  };
  return {
    asked,
    lookup(host, done) {
      asked.push(host);
      waiting.set(host, done);
    },
    answer: (host, ...addresses) =>
      take(host)(
        null,
        addresses.map((address) => ({ address, family: 4 })),
      ),
    fail: (host, code) => take(host)(Object.assign(new Error(code), { code }), []),
  };
}

function failsWith(code: string, text: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.code, code);
    assert.match(error.message, text);
    return true;
  };
}

test('the resolver of the system returns the addresses of localhost', async () => {
  const addresses = await createResolver({ concurrency: 2 })('localhost', { timeout: 5_000 });
  assert.ok(addresses.includes('127.0.0.1') || addresses.includes('::1'));
});

test('R7: a name that does not exist is upstream-dns-failed and says so', async () => {
  const { lookup, fail } = heldLookup();
  const resolving = createResolver({ lookup, concurrency: 2 })('gone.example', { timeout: 5_000 });
  fail('gone.example', 'ENOTFOUND');
  await assert.rejects(
    resolving,
    failsWith('upstream-dns-failed', /gone\.example could not be resolved: there is no such name.*ENOTFOUND/u),
  );
});

test('R7: a look-up that fails at the name server is upstream-dns-failed, and one that hangs does not delay it', async () => {
  const { lookup, fail } = heldLookup();
  const resolve = createResolver({ lookup, concurrency: 2 });
  const hanging = resolve('hangs.example', { timeout: 60 });
  const failing = resolve('fails.example', { timeout: 5_000 });
  fail('fails.example', 'EAI_AGAIN');
  await assert.rejects(failing, failsWith('upstream-dns-failed', /the name server does not answer \(EAI_AGAIN\)/u));
  await assert.rejects(hanging, failsWith('upstream-timeout', /60 ms/u));
});

test('R7: a name without addresses is upstream-dns-failed', async () => {
  const { lookup, answer } = heldLookup();
  const resolving = createResolver({ lookup, concurrency: 2 })('empty.example', { timeout: 5_000 });
  answer('empty.example');
  await assert.rejects(resolving, failsWith('upstream-dns-failed', /no address/u));
});

test('the order of the answers is kept, and a repeated address counts once', async () => {
  const { lookup, answer } = heldLookup();
  const resolving = createResolver({ lookup, concurrency: 2 })('two.example', { timeout: 5_000 });
  answer('two.example', '::2', '10.0.0.1', '::2');
  assert.deepEqual(await resolving, ['::2', '10.0.0.1']);
});

test('R7: a look-up over its time limit is upstream-timeout with the phase and the limit', async () => {
  const { lookup } = heldLookup();
  await assert.rejects(
    createResolver({ lookup, concurrency: 2 })('slow.example', { timeout: 20 }),
    failsWith('upstream-timeout', /20 ms.*dns/u),
  );
});

test('concurrent callers of one name share a look-up, later ones get a new one', async () => {
  const { lookup, asked, answer } = heldLookup();
  const resolve = createResolver({ lookup, concurrency: 2 });
  const both = [resolve('one.example', { timeout: 5_000 }), resolve('one.example', { timeout: 5_000 })];
  answer('one.example', '10.0.0.1');
  assert.deepEqual(await Promise.all(both), [['10.0.0.1'], ['10.0.0.1']]);
  const later = resolve('one.example', { timeout: 5_000 });
  answer('one.example', '10.0.0.2');
  assert.deepEqual(await later, ['10.0.0.2']);
  assert.deepEqual(asked, ['one.example', 'one.example']);
});

test('look-ups run up to their limit at once, and one without callers left never runs', async () => {
  const { lookup, asked, answer } = heldLookup();
  const resolve = createResolver({ lookup, concurrency: 2 });
  const running = ['a.example', 'b.example'].map((host) => resolve(host, { timeout: 5_000 }));
  const givenUp = resolve('c.example', { timeout: 20 });
  const waiting = resolve('d.example', { timeout: 5_000 });
  assert.deepEqual(asked, ['a.example', 'b.example']);
  await assert.rejects(givenUp, failsWith('upstream-timeout', /dns/u));
  answer('a.example', '10.0.0.1');
  assert.deepEqual(asked, ['a.example', 'b.example', 'd.example']);
  answer('b.example', '10.0.0.2');
  answer('d.example', '10.0.0.4');
  assert.deepEqual(await Promise.all([...running, waiting]), [['10.0.0.1'], ['10.0.0.2'], ['10.0.0.4']]);
});

test('a look-up over its time limit counts until the system answers, and no longer', async () => {
  const { lookup, asked, answer } = heldLookup();
  const resolve = createResolver({ lookup, concurrency: 1 });
  await assert.rejects(resolve('slow.example', { timeout: 20 }), failsWith('upstream-timeout', /dns/u));
  const waiting = resolve('next.example', { timeout: 5_000 });
  assert.deepEqual(asked, ['slow.example']);
  answer('slow.example', '10.0.0.1');
  answer('next.example', '10.0.0.2');
  assert.deepEqual(await waiting, ['10.0.0.2']);
});
