// suite: long, waiting

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batchTask, type ItemRun, itemStage, namedAction } from './support/runs/item-stage.ts';
import { eachStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// Batches of two people at one gateway leave room for what people begin by hand (docs/guides/change-many-devices.md).

eachStore((store) => {
  test('two batches of two people let a run by hand pass, and lists and statistics have three runs', async (t) => {
    const { far, send, asked, read, reaches, start } = await itemStage(t, store);
    const itemsOf = (who: string): readonly string[] => Array.from({ length: 1_500 }, (_, index) => `${who}-${index}`);
    const tasks = [batchTask('all', { parallel: 100 })];
    const batches: ItemRun[] = [];
    for (const who of ['ann', 'bob'] as const) batches.push(await start(tasks, { items: itemsOf(who) }, who));
    for (const { id } of batches) await until('an item has ended', async () => ((await read(id)).items?.completed ?? 0) > 0);
    const { id: byHand } = await start([namedAction('act', '"by hand"')], {}, 'ann');
    await reaches(byHand, 'completed');
    for (const { id } of batches) assert.ok(((await read(id)).items?.notStarted ?? 0) > 0, 'the batch is still under way');
    assert.ok(far.arrived.includes('by hand'));

    const { list } = await asked<{ readonly list: readonly ItemRun[] }>(send('ann', 'GET', '/runs?limit=1000'));
    assert.deepEqual(list.map(({ id }) => id).toSorted(), [...batches.map(({ id }) => id), byHand].toSorted());
    for (const { id } of batches) {
      await asked(send('ann', 'POST', `/runs/${id}/cancel`));
      await reaches(id, 'cancelled');
    }
    const statistics = await asked<{ readonly list: readonly { readonly counts: Readonly<Record<string, number>> }[] }>(
      send('ann', 'GET', '/statistics/runs'),
    );
    const ended = statistics.list.flatMap(({ counts: of }) => Object.values(of));
    assert.equal(
      ended.reduce((sum, each) => sum + each, 0),
      3,
    );
  });
});
