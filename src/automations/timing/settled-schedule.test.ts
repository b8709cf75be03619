import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '#access/principal.ts';
import { testAdmin } from '#access/rights/rights.test-support.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { eachStore } from '../../../test/support/stores/stores.ts';
import type { Automation } from '../automation.ts';
import { catalogueOn, importLines } from '../automation-catalogue.test-support.ts';
import type { GivenAutomation } from '../automation-document.ts';
import { noteRun } from '../store/run-facts.test-support.ts';

const principal: Principal = { id: 'ada', username: 'ada', roles: ['admin'], groups: [] };
const noon = Date.parse('2026-05-01T12:00:00Z');
const atNoon = { now: () => noon, monotonic: () => noon };
const preconditions = {};

/** The times of an automation: `nextRunAt` and `data.scheduleFrom`, without seconds. */
function timesOf({ text }: { readonly text: string }): readonly (string | undefined)[] {
  const { nextRunAt, data } = JSON.parse(text) as Automation;
  return [nextRunAt?.slice(0, 16), data?.scheduleFrom?.slice(0, 16)];
}

eachStore((store) => {
  test('an automation with cron gets its next time at each write that concerns it, and a pause keeps it paused', async (t) => {
    let now = noon;
    const catalogue = catalogueOn(await store.open(t), { now: () => now, monotonic: () => now });
    const given: GivenAutomation = { name: 'a', data: { cron: '30 2 * * *', timeZone: 'Europe/Berlin' } };
    const { id, tag } = await catalogue.create({ principal, given });
    const target = { principal, id, preconditions };
    const patch = (change: unknown) => catalogue.patch({ ...target, patch: change });
    const read = async () => timesOf(await catalogue.read({ principal, id }));
    assert.deepEqual(await read(), ['2026-05-02T00:30', undefined]);
    now += 86_400_000;
    assert.deepEqual(timesOf(await patch({ data: { description: 'd' } })), ['2026-05-02T00:30', undefined]);
    assert.deepEqual(timesOf(await patch({ data: { timeZone: 'UTC' } })), ['2026-05-03T02:30', undefined]);
    assert.deepEqual(timesOf(await patch({ nextRunAt: '2026-06-01T02:30:00Z' })), ['2026-06-01T02:30', undefined]);
    const paused = await patch({ nextRunAt: null });
    assert.deepEqual(timesOf(paused), [undefined, undefined]);
    assert.notEqual(paused.tag, tag);
    assert.equal((await patch({ nextRunAt: '2026-06-02T00:00:00Z' })).tag, paused.tag);
    await patch({ nextRunAt: null });
    assert.deepEqual(timesOf(await patch({ data: { description: 'e', timeZone: 'Europe/Berlin' } })), [undefined, undefined]);
    assert.deepEqual(timesOf(await catalogue.replace({ ...target, given })), [undefined, undefined]);
    assert.deepEqual(timesOf(await patch({ data: { cron: '0 5 * * *' } })), ['2026-05-03T03:00', undefined]);
    assert.deepEqual(timesOf(await catalogue.replace({ ...target, given })), ['2026-05-03T00:30', undefined]);
    assert.deepEqual(timesOf(await catalogue.replace({ ...target, given: { name: 'a' } })), [undefined, undefined]);
  });

  test('an interval counts from a written time, and neither a run nor a copy of the document changes that', async (t) => {
    const database = await store.open(t);
    const catalogue = catalogueOn(database, atNoon);
    const nextRunAt = '2026-01-31T00:00:00.000Z';
    // As a request may have it, in which the gateway ignores the member.
    const given: Automation = { _id: '', name: 'a', repeatInterval: '1 month', nextRunAt, data: { scheduleFrom: '2020' } };
    const { id, tag, text } = await catalogue.create({ principal, given });
    const target = { principal, id, preconditions };
    const patch = (change: unknown) => catalogue.patch({ ...target, patch: change });
    assert.deepEqual(timesOf({ text }), ['2026-01-31T00:00', '2026-01-31T00:00']);
    await noteRun(database, id, { nextRunAt: '2026-02-28T00:00:00.000Z' });
    const read = await catalogue.read({ principal, id });
    assert.deepEqual([timesOf(read), read.tag], [['2026-02-28T00:00', '2026-01-31T00:00'], tag]);
    const copy = { ...(JSON.parse(read.text) as Automation), data: { description: 'd' } };
    assert.deepEqual(timesOf(await catalogue.replace({ ...target, given: copy })), ['2026-02-28T00:00', '2026-01-31T00:00']);
    assert.deepEqual(timesOf(await patch({ repeatInterval: '2 months' })), ['2026-02-28T00:00', '2026-02-28T00:00']);
    const paused = await patch({ nextRunAt: null, data: { scheduleFrom: null } });
    assert.deepEqual(timesOf(paused), [undefined, '2026-02-28T00:00']);
    assert.deepEqual(timesOf(await patch({ data: { description: 'e' } })), [undefined, '2026-02-28T00:00']);
    assert.deepEqual(timesOf(await patch({ repeatInterval: '1 month' })), ['2026-05-28T00:00', '2026-02-28T00:00']);
    const exported: string[] = [];
    for await (const batch of catalogue.export({ principal: testAdmin })) exported.push(...batch);
    await importLines(catalogue, exported.join('\n'));
    assert.deepEqual(`{"kind":"automation","document":${(await catalogue.read({ principal, id })).text}}`, exported[0]);
    assert.deepEqual(timesOf(await patch({ repeatInterval: null, nextRunAt: null })), [undefined, undefined]);
  });

  test('an automation without any first time is never due', async (t) => {
    const database = await store.open(t);
    const catalogue = catalogueOn(database, atNoon);
    assert.deepEqual(timesOf(await catalogue.create({ principal, given: { name: 'a', repeatInterval: '1 day' } })), [
      undefined,
      undefined,
    ]);
  });

  test('the ETag of an automation without data stays when its time is written', async (t) => {
    const database = await store.open(t);
    const catalogue = catalogueOn(database, atNoon);
    await importLines(catalogue, '{"_id":"a","name":"a"}');
    const { tag } = await catalogue.read({ principal, id: 'a' });
    const patch = { nextRunAt: '2026-06-01T00:00:00Z' };
    const patched = await catalogue.patch({ principal, id: 'a', preconditions, patch });
    assert.deepEqual([timesOf(patched), patched.tag], [['2026-06-01T00:00', '2026-06-01T00:00'], tag]);
  });

  test('an import keeps the digits of an input, and a run fact finds its place after one that looks like a document', async (t) => {
    const database = await store.open(t);
    const catalogue = catalogueOn(database, atNoon);
    const input = '{"big":18446744073709551615,"one":1.0,"x":{"y":1e400},"data":{"scheduleFrom":"s"},"repeatInterval":"1 day"}';
    const line = `{"_id":"a","name":"a","data":{"input":${input}}}`;
    await importLines(catalogue, line);
    const kept = `{"_id":"a","name":"a","data":{"owner":"admin","input":${input}},"lastModifiedBy":"admin"}`;
    assert.equal((await catalogue.read({ principal, id: 'a' })).text, kept);
    await noteRun(database, 'a', { lastRunAt: '2026-05-01T00:00:00.000Z' });
    const { text } = await catalogue.read({ principal, id: 'a' });
    assert.equal(text, `${kept.slice(0, -1)},"lastRunAt":"2026-05-01T00:00:00.000Z"}`);
    const patched = await catalogue.patch({ principal, id: 'a', preconditions, patch: { data: { description: 'd' } } });
    assert.ok(patched.text.includes(`"input":${input}`), patched.text);
  });

  test('a merge patch that gives an automation two schedules is refused, and names both', async (t) => {
    const database = await store.open(t);
    const catalogue = catalogueOn(database, atNoon);
    const { id } = await catalogue.create({ principal, given: { name: 'a', repeatInterval: '1 day' } });
    const patch = { data: { cron: '0 5 * * *' } };
    await assert.rejects(catalogue.patch({ principal, id, preconditions, patch }), (error) => {
      assert.ok(error instanceof GatewayError && error.code === 'invalid-request');
      assert.deepEqual(
        error.errors?.map(({ pointer }) => pointer),
        ['/data/cron', '/repeatInterval'],
      );
      return true;
    });
    const changed = await catalogue.patch({ principal, id, preconditions, patch: { ...patch, repeatInterval: null } });
    assert.deepEqual(timesOf(changed), ['2026-05-02T05:00', undefined]);
  });
});
