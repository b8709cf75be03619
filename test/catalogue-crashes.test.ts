// suite: long

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crashRounds, crashSeed } from './support/crashes/crash-rounds.ts';
import { eachStore } from './support/stores/stores.ts';

// Twenty in all; the full form, some hundred on each store: node bench/crashes.ts catalogue 200

const rounds = 10;

eachStore((store) => {
  test(`R72: no acknowledged write is lost or there in part after ${rounds} kills under load`, async (t) => {
    const seed = crashSeed();
    t.diagnostic(`to play these rounds again: CRASH_SEED=${seed}`);
    const { acknowledged, unanswered } = await crashRounds(t, { store, rounds, seed });
    t.diagnostic(`${acknowledged} writes acknowledged, ${unanswered} under way at a kill`);
    // Without writes under way at a kill the test would prove nothing.
    assert.ok(acknowledged > rounds && unanswered > rounds / 2, `${acknowledged} acknowledged, ${unanswered} unanswered`);
  });
});
