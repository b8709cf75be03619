import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '#base/clock.ts';
import { CallScope } from '#outbound/call-scope.ts';
import type { AdapterKind } from './adapter-kind.ts';
import { keepDryRunProof } from './dry-run-proof.ts';
import { nsoAdapter } from './kinds/nso/nso-adapter.ts';
import { restAdapter } from './kinds/rest/rest-adapter.ts';
import type { AttemptResult } from './node-failure.ts';

/** A node that answers `modules` as its YANG library. */
function node(kind: AdapterKind = nsoAdapter) {
  let now = 0;
  let answer: () => AttemptResult | Promise<AttemptResult> = () => library('tailf-ncs');
  const reads: string[] = [];
  const proof = keepDryRunProof({
    kind,
    url: 'http://nso.example.net/base',
    clock: { ...systemClock, monotonic: () => now },
    async send(path) {
      reads.push(path);
      return await answer();
    },
  });
  const required = async (): Promise<void> => {
    const scope = new CallScope({ total: 10_000, clock: systemClock });
    try {
      await proof.require(scope);
    } finally {
      scope.end();
    }
  };
  return {
    reads,
    proof,
    required,
    pass: (milliseconds: number) => void (now += milliseconds),
    answers: (next: typeof answer) => void (answer = next),
  };
}

function library(module: string): AttemptResult {
  const text = `{"ietf-yang-library:yang-library":{"module-set":[{"module":[{"name":"${module}"}]}]}}`;
  return { reply: { status: 200, headers: {}, head: Buffer.from(text), rest: undefined, discard: () => {} } };
}

test('a proof holds for a minute, and is then read again', async () => {
  const { reads, required, pass, answers } = node();
  await required();
  pass(59_000);
  await required();
  assert.equal(reads.length, 1);
  pass(2_000);
  answers(() => library('another-server'));
  await assert.rejects(required(), { code: 'no-dry-run' });
  assert.equal(reads.length, 3, 'both forms of the library');
});

test('a missing proof and a failed reading are not kept', async () => {
  const { reads, required, answers } = node();
  answers(() => library('another-server'));
  await assert.rejects(required(), { code: 'no-dry-run', message: /^No dry run was sent to nso\.example\.net: / });
  answers(() => ({ failure: new Error('broken') }));
  await assert.rejects(required(), { message: 'broken' });
  answers(() => library('tailf-ncs'));
  await required();
  assert.equal(reads.length, 4);
});

test('a proof is forgotten where the node may be another server', async () => {
  const { reads, required, proof } = node();
  await required();
  proof.forget();
  await required();
  assert.equal(reads.length, 2);
});

test('a reading that began before the node failed is not kept', async () => {
  const { reads, required, proof, answers } = node();
  const { promise, resolve } = Promise.withResolvers<AttemptResult>();
  answers(() => promise);
  const first = required();
  proof.forget();
  resolve(library('tailf-ncs'));
  await first;
  await required();
  assert.equal(reads.length, 2);
});

test('previews at the same time share one reading, and one that is aborted does not end it', async () => {
  const { reads, required, proof, answers } = node();
  const { promise, resolve } = Promise.withResolvers<AttemptResult>();
  answers(() => promise);
  const scope = new CallScope({ total: 10_000, clock: systemClock });
  const aborted = assert.rejects(proof.require(scope), { message: 'the caller left' });
  const others = Promise.all([required(), required()]);
  scope.abort(new Error('the caller left'));
  await aborted;
  scope.end();
  resolve(library('tailf-ncs'));
  await others;
  assert.equal(reads.length, 1);
});

test('a kind without dry runs proves nothing, and is not asked', async () => {
  const { reads, required } = node(restAdapter);
  await assert.rejects(required(), { code: 'no-dry-run', message: /an adapter of kind rest has no dry runs/ });
  assert.equal(reads.length, 0);
});
