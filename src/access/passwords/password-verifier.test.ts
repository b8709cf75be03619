import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { GatewayError } from '#base/gateway-error.ts';
import type { PasswordHash } from './password-hash.ts';
import { createPasswordVerifier, type PasswordVerifier } from './password-verifier.ts';

const hash: PasswordHash = { memory: 64, passes: 1, parallelism: 1, salt: Buffer.alloc(16), tag: Buffer.alloc(32) };

async function verify(verifier: PasswordVerifier, password = 'x'): Promise<boolean> {
  const place = verifier.enter(password);
  try {
    return await place.verify(hash);
  } finally {
    place.leave();
  }
}

test('R91: of 200 concurrent logins two are hashed at a time, 32 wait, and the others get 429 with Retry-After', async () => {
  let running = 0;
  let most = 0;
  const verifier = createPasswordVerifier({
    concurrency: 2,
    queue: 32,
    matches: async () => {
      running += 1;
      most = Math.max(most, running);
      await turn();
      running -= 1;
      return true;
    },
  });
  const results = await Promise.allSettled(Array.from({ length: 200 }, () => verify(verifier)));
  assert.equal(most, 2);
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 34);
  for (const result of results) {
    if (result.status === 'fulfilled') continue;
    assert.ok(result.reason instanceof GatewayError);
    assert.equal(result.reason.code, 'too-many-requests');
    assert.equal(result.reason.headers['Retry-After'], '1');
  }
  assert.equal(await verify(verifier), true);
});

test('a hash that fails releases its place', async () => {
  const verifier = createPasswordVerifier({ concurrency: 1, queue: 0, matches: () => Promise.reject(new Error('no memory')) });
  for (let round = 0; round < 3; round += 1) await assert.rejects(verify(verifier), /no memory/u);
});

test('R92: a password of 1,024 bytes is admitted, one of 1,025 gets 400', () => {
  const verifier = createPasswordVerifier({ concurrency: 2, queue: 2 });
  verifier.enter('x'.repeat(1_024));
  verifier.enter('é'.repeat(512));
  for (const password of ['x'.repeat(1_025), `${'é'.repeat(512)}x`]) {
    assert.throws(
      () => verifier.enter(password),
      (error) => error instanceof GatewayError && error.status === 400,
    );
  }
});
