import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AuditReader } from '#audit/audit-reader.ts';
import { CallerLeft } from '#base/caller-left.ts';
import type { RouteRequest } from '../route.ts';
import { auditVerificationRoute } from './audit-verification-route.ts';

const verdict = {
  chains: 0,
  records: 0,
  checkpoints: 0,
  from: undefined,
  to: undefined,
  problems: [],
  lost: [],
  next: undefined,
};

/** A verification that ends once it may not go on; `parts` counts those that began. */
function endlessReader() {
  const counted = { parts: 0 };
  const verify: AuditReader['verify'] = async ({ mayGoOn = () => true }) => {
    counted.parts += 1;
    while (mayGoOn()) await nextTurn();
    return verdict;
  };
  return { counted, verify };
}

function requestOf(now: () => number) {
  let hasLeft = false;
  let left = (): void => {};
  const context = {
    record: { clock: { now, monotonic: now } },
    whenEnded(callback: () => void) {
      if (hasLeft) callback();
      else left = callback;
    },
  };
  const leave = (): void => {
    hasLeft = true;
    left();
  };
  return { request: { body: {}, context } as unknown as RouteRequest, leave };
}

test('a verification ends when its caller leaves, or after two seconds; others wait for their turn', async () => {
  const { verify, counted } = endlessReader();
  const route = auditVerificationRoute({ verify });
  let now = 0;
  const [first, second, third] = [requestOf(() => now), requestOf(() => now), requestOf(() => now)];
  const replies = [first, second, third].map(async ({ request }) => route.handle(request));
  await nextTurn();
  assert.equal(counted.parts, 1);
  // It leaves before its turn: its part does not begin.
  second.leave();
  const refused = assert.rejects(replies[1] ?? Promise.resolve(), CallerLeft);
  first.leave();
  await Promise.all([replies[0], refused]);
  await nextTurn();
  assert.equal(counted.parts, 2);
  now = 2_000;
  assert.deepEqual(await replies[2], {
    kind: 'json',
    status: 200,
    headers: {},
    value: { chains: 0, records: 0, checkpoints: 0, problems: [], lost: [], from: undefined, to: undefined, cursor: undefined },
  });
});
