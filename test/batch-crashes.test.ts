// suite: long

import { test } from 'node:test';
import { runBatchCrashes } from './support/crashes/batch-crashes.ts';
import { crashSeed } from './support/crashes/crash-rounds.ts';
import { eachStore } from './support/stores/stores.ts';

// The full form has 5,000 items: node bench/batch-crashes.ts

eachStore((store) => {
  test('a batch of 200 items ends after three kills, and the action of each item arrives exactly once', async (t) => {
    const seed = crashSeed();
    t.diagnostic(`to play this again: CRASH_SEED=${seed}`);
    const { done, again, took } = await runBatchCrashes(t, { store, items: 200, parallel: 8, kills: 3, seed });
    t.diagnostic(`decided: ${done} done, ${again} again; ${took} ms`);
  });
});
