import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditCrashRounds } from './support/crashes/audit-crash-rounds.ts';
import { crashSeed } from './support/crashes/crash-rounds.ts';
import { eachStore } from './support/stores/stores.ts';

// Twenty in all; the full form, some hundred on each store: node bench/audit-crashes.ts 200

const rounds = 10;

eachStore((store) => {
  test(`R71: no action is without its record, and no acknowledged one without its outcome, and none is made twice for one key, after ${rounds} kills under load`, async (t) => {
    const seed = crashSeed();
    t.diagnostic(`to play these rounds again: CRASH_SEED=${seed}`);
    const { acknowledged, arrivedUnanswered, unknown, repeated } = await auditCrashRounds(t, { store, rounds, seed });
    t.diagnostic(
      `${acknowledged} acknowledged; ${arrivedUnanswered} arrived and were not, ${unknown} of them with an unknown outcome`,
    );
    t.diagnostic(`sent again with their keys: ${JSON.stringify(repeated)}`);
    // A load that was never caught in the act would prove nothing.
    assert.ok(
      acknowledged > rounds && arrivedUnanswered > rounds / 2 && unknown > 0,
      `${acknowledged}, ${arrivedUnanswered}, ${unknown}`,
    );
    assert.ok(repeated.replayed > rounds, JSON.stringify(repeated));
  });
});
