// suite: long

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Principal } from '#access/principal.ts';
import { testAdmin } from '#access/rights/rights.test-support.ts';
import { eachStore } from '../../../test/support/stores/stores.ts';
import { type Automation, type TextField, textOf } from '../automation.ts';
import { catalogueOn, importLines } from '../automation-catalogue.test-support.ts';
import { type AutomationCatalogue } from '../automation-catalogue.ts';
import { noPeople } from '../automation-people.ts';
import type { ListOptions } from '../list-options.ts';
import { createDueAutomations } from './automation-due-store.ts';
import { createAutomationStore } from './automation-store.ts';
import { type NotedFacts, noteRun } from './run-facts.test-support.ts';
import { exactKey } from './sort-key.ts';

const admin: Principal = { id: 'ada', username: 'ada', roles: ['admin'], groups: [] };
const all: ListOptions = { limit: 1000, skip: 0, sort: 'name', order: 1, filters: [] };
const times = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z', '2027-01-01T00:00:00.000Z'] as const;
const [early, late, later] = times;

async function documentsOf(catalogue: AutomationCatalogue, options: Partial<ListOptions> = {}): Promise<readonly Automation[]> {
  const { list } = await catalogue.list({ principal: admin, options: { ...all, ...options } });
  return list.map((text) => JSON.parse(text) as Automation);
}

async function readOf(catalogue: AutomationCatalogue, id: string): Promise<Automation & { readonly tag: string }> {
  const { text, tag } = await catalogue.read({ principal: admin, id });
  return { ...(JSON.parse(text) as Automation), tag };
}

async function importOf(catalogue: AutomationCatalogue, documents: readonly Automation[]): Promise<void> {
  await importLines(catalogue, documents.map((document) => JSON.stringify(document)).join('\n'));
}

eachStore((store) => {
  test('a run fact is in every form of reading, and the ETag stays', async (t) => {
    const database = await store.open(t);
    const catalogue = catalogueOn(database);
    await importOf(catalogue, [
      { _id: 'a', name: 'a', lastRunAt: early, repeatInterval: '1 day' },
      { _id: 'b', name: 'b', nextRunAt: early },
    ]);
    const { tag } = await readOf(catalogue, 'a');
    assert.equal(await noteRun(database, 'a', { lastRunAt: late, nextRunAt: later }), true);
    const people = { data: { owner: testAdmin.username, scheduledBy: testAdmin.username }, lastModifiedBy: testAdmin.username };
    const a = { _id: 'a', name: 'a', ...people, lastRunAt: late, nextRunAt: later, repeatInterval: '1 day' };
    const b = { _id: 'b', name: 'b', ...people, nextRunAt: early };
    assert.deepEqual(await readOf(catalogue, 'a'), { ...a, tag });
    assert.deepEqual(await documentsOf(catalogue), [a, b]);
    const exported: string[] = [];
    for await (const batch of catalogue.export({ principal: testAdmin })) exported.push(...batch);
    assert.deepEqual(
      exported,
      [a, b].map((document) => JSON.stringify({ kind: 'automation', document })),
    );
    assert.deepEqual(await documentsOf(catalogue, { sort: 'nextRunAt' }), [b, a]);
    assert.deepEqual(await documentsOf(catalogue, { sort: 'lastRunAt', order: -1 }), [a, b]);
    assert.deepEqual(await documentsOf(catalogue, { filters: [{ kind: 'startsWith', field: 'nextRunAt', text: '2027' }] }), [a]);
    assert.deepEqual(await documentsOf(catalogue, { filters: [{ kind: 'equals', field: 'lastRunAt', text: early }] }), []);
    await noteRun(database, 'a', { nextRunAt: null });
    await noteRun(database, 'a', {});
    assert.deepEqual(await readOf(catalogue, 'a'), {
      _id: 'a',
      name: 'a',
      ...people,
      lastRunAt: late,
      repeatInterval: '1 day',
      tag,
    });
    assert.equal(await noteRun(database, 'none', { lastRunAt: late }), false);
  });

  test('a replacement of run facts alone names who made it, and changes neither the ETag nor data.lastUpdated', async (t) => {
    const catalogue = catalogueOn(await store.open(t));
    const given = { name: 'a', data: { description: 'd', gbac: { write: ['ops'] } }, repeatInterval: '1 day' };
    const { id, tag, text } = await catalogue.create({ principal: admin, given: { ...given, nextRunAt: early } });
    const other: Principal = { ...admin, username: 'bob' };
    const ofOther = { principal: other, id, preconditions: { ifMatch: tag } };
    const replaced = await catalogue.replace({ ...ofOther, given: { ...given, nextRunAt: '2026-01-02T01:00:00+01:00' } });
    const created = JSON.parse(text) as Automation;
    const data = { ...created.data, scheduleFrom: late, scheduledBy: 'bob' };
    const lastModifiedBy = 'bob';
    assert.equal(created.data?.scheduleFrom, early);
    assert.deepEqual([JSON.parse(replaced.text), replaced.tag], [{ ...created, data, lastModifiedBy, nextRunAt: late }, tag]);
    const patched = await catalogue.patch({ ...ofOther, patch: { nextRunAt: null, lastRunAt: early } });
    const { nextRunAt: _, ...rest } = created;
    assert.deepEqual([JSON.parse(patched.text), patched.tag], [{ ...rest, data, lastModifiedBy, lastRunAt: early }, tag]);
    assert.deepEqual((await catalogue.read({ principal: admin, id })).text, patched.text);
    const changed = await catalogue.patch({ ...ofOther, patch: { nextRunAt: late, repeatInterval: '2 days' } });
    assert.notEqual(changed.tag, tag);
    assert.equal((JSON.parse(changed.text) as Automation).lastModifiedBy, 'bob');
  });

  test('the schedule moves an automation on, unless its owner has written another time', async (t) => {
    const database = await store.open(t);
    const [catalogue, due] = [catalogueOn(database), createDueAutomations(database)];
    await importOf(catalogue, [{ _id: 'a', name: 'a', nextRunAt: early, repeatInterval: '1 day' }]);
    const automation = await readOf(catalogue, 'a');
    const found = { key: exactKey('a'), automation, people: noPeople, written: early, due: Date.parse(early) };
    assert.equal(await due.moveOn([{ found, next: late, startedAt: early, skip: undefined }]), 1);
    assert.equal(await due.moveOn([{ found, next: later, startedAt: undefined, skip: undefined }]), 0);
    const { lastRunAt, nextRunAt } = await readOf(catalogue, 'a');
    assert.deepEqual([lastRunAt, nextRunAt], [early, late]);
    const stored = await createAutomationStore(database).read('a');
    assert.equal(stored?.givenNext, early);
  });

  test('a patch keeps the facts that it does not name, and a document that is imported has none of those before it', async (t) => {
    const database = await store.open(t);
    const [catalogue, documents] = [catalogueOn(database), createAutomationStore(database)];
    await importOf(catalogue, [{ _id: 'a', name: 'a', nextRunAt: early }]);
    await noteRun(database, 'a', { lastRunAt: late, nextRunAt: later });
    await catalogue.patch({ principal: admin, id: 'a', preconditions: {}, patch: { data: { description: 'd' } } });
    const stored = await documents.read('a');
    assert.deepEqual([stored?.automation.lastRunAt, stored?.automation.nextRunAt, stored?.givenNext], [late, later, early]);
    await importOf(catalogue, [{ _id: 'a', name: 'a' }]);
    assert.deepEqual((await documentsOf(catalogue)).map(withoutPeople), [{ _id: 'a', name: 'a' }]);
  });

  test('order, filters and pages are those of the facts in effect, after any changes and runs', async (t) => {
    const database = await store.open(t);
    // Small enough that some searches find too many documents to sort.
    const documents = createAutomationStore(database, 3);
    const catalogue = catalogueOn(database);
    const fact = fc.constantFrom(undefined, undefined, ...times);
    const noted = fc.constantFrom(undefined, null, ...times);
    const step = fc.oneof(
      fc.record({ kind: fc.constant('put' as const), at: fc.nat({ max: 4 }), lastRunAt: fact, nextRunAt: fact }),
      fc.record({ kind: fc.constant('note' as const), at: fc.nat({ max: 4 }), lastRunAt: noted, nextRunAt: noted }),
      fc.record({ kind: fc.constant('patch' as const), at: fc.nat({ max: 4 }), lastRunAt: noted, nextRunAt: noted }),
      fc.record({ kind: fc.constant('remove' as const), at: fc.nat({ max: 4 }) }),
    );
    const idOf = (at: number): string => `i${(at * 3) % 5}`;
    await fc.assert(
      fc
        .asyncProperty(
          fc.array(step, { minLength: 8, maxLength: 24 }),
          fc.constantFrom<TextField>('lastRunAt', 'nextRunAt', 'name', 'repeatInterval'),
          fc.constantFrom<ListOptions['filters']>(
            [],
            [{ kind: 'contains', field: 'nextRunAt', text: '2026' }],
            [{ kind: 'equals', field: 'lastRunAt', text: late }],
            [
              { kind: 'startsWith', field: 'nextRunAt', text: '2026-01-0' },
              { kind: 'contains', field: 'name', text: 'n' },
            ],
          ),
          fc.integer({ min: 1, max: 4 }),
          async (steps, sort, filters, limit) => {
            const model = new Map<string, Automation>();
            for (const each of steps) {
              const id = idOf(each.at);
              const current = model.get(id);
              const name = `n${each.at}`;
              if (each.kind === 'put') {
                await importOf(catalogue, [withFacts({ _id: id, name }, each)]);
                model.set(
                  id,
                  withFacts(withoutPeople(JSON.parse((await catalogue.read({ principal: admin, id })).text) as Automation), {}),
                );
              } else if (each.kind === 'remove') {
                await documents.change((writer) => writer.remove([id]));
                model.delete(id);
              } else if (each.kind === 'note') {
                assert.equal(await noteRun(database, id, each), current !== undefined);
                if (current !== undefined) model.set(id, withFacts(current, each));
              } else if (current !== undefined) {
                const { kind: _, at: _at, ...patch } = each;
                const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
                const { text } = await catalogue.patch({ principal: admin, id, preconditions: {}, patch: given });
                const patched = withFacts(withoutPeople(JSON.parse(text) as Automation), {});
                assert.deepEqual(factsOf(patched), factsOf(withFacts(current, each)));
                model.set(id, patched);
              }
            }
            const key = (automation: Automation, field: TextField): string => textOf(automation, field) ?? '';
            const expected = [...model.values()]
              .filter((automation) =>
                filters.every(({ kind, field, text }) => {
                  const value = textOf(automation, field);
                  if (value === undefined) return false;
                  if (kind === 'equals') return value === text;
                  return kind === 'contains' ? value.includes(text) : value.startsWith(text);
                }),
              )
              .toSorted((a, b) =>
                key(a, sort) < key(b, sort) ? -1 : key(a, sort) > key(b, sort) ? 1 : a.name < b.name ? -1 : 1,
              );
            for (const order of [1, -1] as const) {
              const pages: Automation[] = [];
              for (let skip = 0; skip <= expected.length; skip += limit) {
                const options = { limit, skip, sort, order, filters };
                const { list, total } = await documents.list({ options, viewer: { seesAll: true, groups: [] } });
                assert.equal(total, expected.length);
                pages.push(...list.map((text) => withoutPeople(JSON.parse(text) as Automation)));
              }
              assert.deepEqual(pages, order === 1 ? expected : expected.toReversed());
            }
          },
        )
        .afterEach(async () => {
          await documents.change((writer) => writer.remove(Array.from({ length: 5 }, (_, at) => idOf(at))));
        }),
      { numRuns: 30 },
    );
  });
});

/** Who wrote what is no part of this model. */
function withoutPeople({ lastModifiedBy: _modifier, ...rest }: Automation): Automation {
  const { owner: _owner, scheduledBy: _by, ...data } = rest.data ?? {};
  const { data: _data, ...others } = rest;
  return { ...others, ...(Object.keys(data).length > 0 && { data }) };
}

function factsOf({ lastRunAt, nextRunAt }: Automation): readonly unknown[] {
  return [lastRunAt, nextRunAt];
}

function withFacts(automation: Automation, { lastRunAt, nextRunAt }: NotedFacts): Automation {
  const { lastRunAt: last, nextRunAt: next, ...rest } = automation;
  const facts = {
    lastRunAt: lastRunAt === undefined ? last : (lastRunAt ?? undefined),
    nextRunAt: nextRunAt === undefined ? next : (nextRunAt ?? undefined),
  };
  return JSON.parse(JSON.stringify({ ...rest, ...facts })) as Automation;
}
