import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '#base/clock.ts';
import { CallScope } from '#outbound/call/call-scope.ts';
import type { AdapterKind } from './adapter-kind.ts';
import { keepDryRunProof } from './dry-run-proof.ts';
import type { DryRunProof } from './dry-runs.ts';
import { nsoAdapter } from './kinds/nso/nso-adapter.ts';
import { restAdapter } from './kinds/rest/rest-adapter.ts';
import type { AttemptResult } from './nodes/node-failure.ts';

/** A node that answers `modules` as its YANG library. */
function node(kind: AdapterKind = nsoAdapter) {
  let now = 0;
  let answer: () => AttemptResult | Promise<AttemptResult> = () => library('tailf-ncs');
  const reads: string[] = [];
  const proof = keepDryRunProof({
    kind,
    clock: { ...systemClock, monotonic: () => now },
    async send(path) {
      reads.push(path);
      return await answer();
    },
  });
  const asked = async (): Promise<DryRunProof> => {
    const scope = new CallScope({ total: 10_000, clock: systemClock });
    try {
      return await proof.ask(scope);
    } finally {
      scope.end();
    }
  };
  return {
    reads,
    proof,
    asked,
    pass: (milliseconds: number) => void (now += milliseconds),
    answers: (next: typeof answer) => void (answer = next),
  };
}

function library(...modules: readonly string[]): AttemptResult {
  const list = JSON.stringify(modules.map((name) => ({ name })));
  const text = `{"ietf-yang-library:yang-library":{"module-set":[{"module":${list}}]}}`;
  return { reply: { status: 200, headers: {}, head: Buffer.from(text), rest: undefined, discard: () => {} } };
}

test('a proof holds for a minute, and is then read again', async () => {
  const { reads, asked, pass, answers } = node();
  await asked();
  pass(59_000);
  await asked();
  assert.equal(reads.length, 1);
  pass(2_000);
  answers(() => library('another-server'));
  assert.ok('missing' in (await asked()));
  assert.equal(reads.length, 3, 'both forms of the library');
});

test('a missing proof and a failed reading are not kept', async () => {
  const { reads, asked, answers } = node();
  answers(() => library('another-server'));
  assert.ok('missing' in (await asked()));
  answers(() => ({ failure: new Error('broken') }));
  await assert.rejects(asked(), { message: 'broken' });
  answers(() => library('tailf-ncs'));
  await asked();
  assert.equal(reads.length, 4);
});

test('a proof is forgotten where the node may be another server', async () => {
  const { reads, asked, proof } = node();
  await asked();
  proof.forget();
  await asked();
  assert.equal(reads.length, 2);
});

test('a reading that began before the node failed is not kept', async () => {
  const { reads, asked, proof, answers } = node();
  const { promise, resolve } = Promise.withResolvers<AttemptResult>();
  answers(() => promise);
  const first = asked();
  proof.forget();
  resolve(library('tailf-ncs'));
  await first;
  await asked();
  assert.equal(reads.length, 2);
});

test('previews at the same time share one reading, and one that is aborted does not end it', async () => {
  const { reads, asked, proof, answers } = node();
  const { promise, resolve } = Promise.withResolvers<AttemptResult>();
  answers(() => promise);
  const scope = new CallScope({ total: 10_000, clock: systemClock });
  const aborted = assert.rejects(proof.ask(scope), { message: 'the caller left' });
  const others = Promise.all([asked(), asked()]);
  scope.abort(new Error('the caller left'));
  await aborted;
  scope.end();
  resolve(library('tailf-ncs'));
  await others;
  assert.equal(reads.length, 1);
});

test('a kind without dry runs proves nothing, and is not asked', async () => {
  const { reads, asked } = node(restAdapter);
  assert.deepEqual(await asked(), { missing: 'an adapter of kind rest has no dry runs' });
  assert.equal(reads.length, 0);
});

test('a node says by a module of its library how it takes commit parameters, and another minute may change that', async () => {
  const { asked, pass, answers } = node();
  assert.deepEqual(await asked(), { form: 'parameters' });
  answers(() => library('tailf-ncs', 'tailf-ncs-commit-params'));
  pass(61_000);
  assert.deepEqual(await asked(), { form: 'params' });
  answers(() => library('tailf-ncs-commit-params'));
  pass(61_000);
  assert.ok('missing' in (await asked()));
});
