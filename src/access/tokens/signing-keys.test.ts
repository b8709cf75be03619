import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestClock } from '../../../test/support/gateway/access.ts';
import { eachStore } from '../../../test/support/stores/stores.ts';
import { createSigningKeyStore } from './signing-key-store.ts';
import { createSigningKeys } from './signing-keys.ts';

const day = 86_400_000;

eachStore((store) => {
  test('a key signs for 30 days, verifies for 30 more, and is then deleted', async (t) => {
    const clock = createTestClock();
    const keyStore = createSigningKeyStore(await store.open(t));
    const keys = await createSigningKeys({ store: keyStore, clock });
    const first = keys.current().kid;
    clock.advance(29 * day);
    await keys.maintain(3_600_000);
    assert.equal(keys.current().kid, first);
    clock.advance(day);
    await keys.maintain(3_600_000);
    assert.notEqual(keys.current().kid, first);
    assert.ok(await keys.find(first));
    clock.advance(31 * day);
    await keys.maintain(3_600_000);
    assert.deepEqual(
      (await keyStore.all()).filter(({ kid }) => kid === first),
      [],
    );
  });

  test('gateways that find the key too old at the same time make one new key', async (t) => {
    const clock = createTestClock();
    const options = await store.empty(t);
    const databases = [await store.open(t, options), await store.open(t, options)];
    const gateways = await Promise.all(
      databases.map((database) => createSigningKeys({ store: createSigningKeyStore(database), clock })),
    );
    clock.advance(31 * day);
    await Promise.all(gateways.map((keys) => keys.maintain(3_600_000)));
    assert.equal(new Set(gateways.map((keys) => keys.current().kid)).size, 1);
  });

  test('R86: a key id is only compared, and unknown ones do not cause a query for each call', async (t) => {
    const clock = createTestClock();
    const keyStore = createSigningKeyStore(await store.open(t));
    let reads = 0;
    const counting = { ...keyStore, all: () => ((reads += 1), keyStore.all()) };
    const keys = await createSigningKeys({ store: counting, clock });
    const before = reads;
    clock.advance(10_000);
    const hostile = ['../../dev/null', "' OR 1=1 --", '__proto__', 'constructor', '', 'http://127.0.0.1/key'];
    for (const kid of hostile) assert.equal(await keys.find(kid), undefined, kid);
    assert.equal(reads, before + 1);
  });
});
