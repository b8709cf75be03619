// suite: long

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crashSeed } from './support/crashes/crash-rounds.ts';
import { runCrashRounds } from './support/crashes/run-crash-rounds.ts';
import { eachStore } from './support/stores/stores.ts';

// Each kill meets eight runs or more. The full form has some hundred kills on each store: node bench/crashes.ts runs 200

const rounds = 10;

eachStore((store) => {
  test(`runs end after ${rounds} kills of their gateway, and each of their actions arrives exactly once`, async (t) => {
    const seed = crashSeed();
    t.diagnostic(`to play these rounds again: CRASH_SEED=${seed}`);
    const { runs, actions, done, again, takenUpAfter } = await runCrashRounds(t, { store, rounds, seed });
    t.diagnostic(
      `${runs} runs, ${actions} actions; decided: ${done} done, ${again} again; the last were taken up and quiet after ${takenUpAfter} ms`,
    );
    // Kills between the actions alone would prove nothing.
    assert.ok(done + again > 0);
  });
});
