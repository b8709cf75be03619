import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '#base/gateway-error.ts';
import { ProgramPool } from './program-pool.ts';

test('a reply without memory to read it gets 502 without Retry-After, so that no caller repeats the call', () => {
  let made = 0;
  const pool = new ProgramPool(() => {
    made += 1;
    if (made > 1) throw new RangeError('WebAssembly.Memory(): could not allocate memory');
    return { size: 1 };
  });
  const first = pool.take();
  assert.throws(
    () => pool.take(),
    (error) => error instanceof GatewayError && error.status === 502 && error.headers['Retry-After'] === undefined,
  );
  pool.release(first);
  assert.equal(pool.take(), first);
});
