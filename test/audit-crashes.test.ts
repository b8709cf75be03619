// suite: long

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditCrashRounds } from './support/crashes/audit-crash-rounds.ts';
import { crashSeed } from './support/crashes/crash-rounds.ts';
import { eachStore } from './support/stores/stores.ts';

// Six kills on each store. The full form has some hundred on each: node bench/crashes.ts audit 200

const rounds = 6;

eachStore((store) => {
  test(`R71: every action has its record, each acknowledged one its outcome, and each key one call, after ${rounds} kills under load`, async (t) => {
    const seed = crashSeed();
    t.diagnostic(`run these rounds again with CRASH_SEED=${seed}`);
    const { acknowledged, arrivedUnanswered, unknown, repeated } = await auditCrashRounds(t, { store, rounds, seed });
    t.diagnostic(
      `${acknowledged} acknowledged; ${arrivedUnanswered} arrived without an answer, ${unknown} of them with the outcome unknown`,
    );
    t.diagnostic(`sent again with their keys: ${JSON.stringify(repeated)}`);
    // Kills between the calls alone would prove nothing.
    assert.ok(
      acknowledged > rounds && arrivedUnanswered > rounds / 2 && unknown > 0,
      `${acknowledged}, ${arrivedUnanswered}, ${unknown}`,
    );
    assert.ok(repeated.replayed > rounds, JSON.stringify(repeated));
  });
});
