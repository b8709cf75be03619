import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import * as fc from 'fast-check';
import { isUniqueViolation } from '#database/store-failure.ts';
import { eachStore, type TestStore } from '../../test/support/stores.ts';
import { type Automation, type TextField, textFields, textOf } from './automation.ts';
import { type AutomationStore, createAutomationStore, type Viewer } from './automation-store.ts';
import type { ListOptions, TextFilter } from './list-options.ts';
import { foldText } from './sort-key.ts';

const all: ListOptions = { limit: 1000, skip: 0, sort: 'name', order: 1, filters: [] };
const admin: Viewer = { seesAll: true, groups: [] };

async function openWith(t: TestContext, store: TestStore, automations: readonly Automation[]): Promise<AutomationStore> {
  const catalogue = createAutomationStore(await store.open(t));
  for (const automation of automations) await catalogue.insert(automation);
  return catalogue;
}

/** The `_id`s of a page and its total. */
async function idsOf(
  store: AutomationStore,
  options: Partial<ListOptions>,
  viewer: Viewer = admin,
): Promise<{ readonly ids: readonly string[]; readonly total: number }> {
  const { list, total } = await store.list({ options: { ...all, ...options }, viewer });
  return { ids: list.map(({ _id }) => _id), total };
}

function named(...names: readonly string[]): readonly Automation[] {
  return names.map((name, index) => ({ _id: `a${index}`, name }));
}

/** The order of the contract, written once more without bytes: by code points. */
function compare(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined);
  const [left, right] = [Array.from(a), Array.from(b)];
  for (const [index, character] of left.entries()) {
    const difference = (character.codePointAt(0) ?? 0) - (right[index]?.codePointAt(0) ?? -1);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

function folded(automation: Automation, field: TextField): string | undefined {
  const text = textOf(automation, field);
  return text === undefined ? undefined : foldText(text);
}

function inOrder(automations: readonly Automation[], sort: TextField): readonly Automation[] {
  return automations.toSorted(
    (a, b) =>
      compare(folded(a, sort), folded(b, sort)) ||
      compare(folded(a, 'name'), folded(b, 'name')) ||
      compare(a.name, b.name) ||
      compare(a._id, b._id),
  );
}

function fits(automation: Automation, { kind, field, text }: TextFilter): boolean {
  const value = folded(automation, field);
  if (value === undefined) return false;
  if (kind === 'equals') return value === foldText(text);
  return kind === 'contains' ? value.includes(foldText(text)) : value.startsWith(foldText(text));
}

// Few characters, chosen to collide: case, accents, two ways to write one, UTF-16 against code points, NUL, wildcards of SQL.
const word = fc.string({
  unit: fc.constantFrom('a', 'A', 'ä', 'a\u0308', 'b', 'Σ', 'ς', '\uff5e', '😀', '\0', '%', '_', '\\', "'"),
  maxLength: 3,
});
const automationParts = fc.record({
  name: word,
  lastModifiedBy: fc.option(word, { nil: undefined }),
  description: fc.option(word, { nil: undefined }),
});
const filter: fc.Arbitrary<TextFilter> = fc.record({
  kind: fc.constantFrom('contains', 'equals', 'startsWith'),
  field: fc.constantFrom('name', 'lastModifiedBy', 'data.description', '_id', 'nextRunAt'),
  text: word,
});

function automationOf(id: number, { name, lastModifiedBy, description }: { name: string } & Partial<Record<string, string>>) {
  return {
    _id: `${id % 2 === 0 ? 'A' : 'a'}${id}`,
    name,
    ...(lastModifiedBy === undefined ? {} : { lastModifiedBy }),
    ...(description === undefined ? {} : { data: { description } }),
  } satisfies Automation;
}

eachStore((store) => {
  test('an empty catalogue is an empty list', async (t) => {
    const catalogue = await openWith(t, store, []);
    assert.deepEqual(await catalogue.list({ options: all, viewer: admin }), { list: [], total: 0 });
  });

  test('a document is listed as it was put in, fields without a value absent', async (t) => {
    const whole: Automation = {
      _id: '64b000000000000000000001',
      name: 'Nightly "sync" \u0000 😀',
      data: {
        gbac: { write: ['ops'], read: [] },
        lastUpdated: '2026-01-02T03:04:05.000Z',
        description: '',
        workflowId: 'w',
        formId: 'f',
      },
      lastModifiedBy: 'ada',
      lastRunAt: '2026-01-02T03:04:05.000Z',
      nextRunAt: '2026-01-03T03:04:05.000Z',
      repeatInterval: '1 day',
    };
    const bare: Automation = { _id: 'bare', name: 'Bare' };
    const catalogue = await openWith(t, store, [whole, bare]);
    const { list } = await catalogue.list({ options: all, viewer: admin });
    assert.deepEqual(list, [bare, whole]);
    for (const sort of textFields) {
      assert.equal((await catalogue.list({ options: { ...all, sort }, viewer: admin })).total, 2, sort);
    }
  });

  test('R85: names are alphabetical without case and accents, by code point, ties by exact name and then _id', async (t) => {
    const catalogue = await openWith(t, store, [
      ...named('zeta', 'Ärger', 'arger', 'Arger', 'Zebra', '😀', '～', 'éclair', '_x', 'Apfel', '10', '9', ''),
      { _id: 'Z', name: 'arger' },
      { _id: '0', name: 'arger' },
    ]);
    const { list } = await catalogue.list({ options: all, viewer: admin });
    assert.deepEqual(
      list.map(({ _id, name }) => (name === 'arger' ? `${name} ${_id}` : name)),
      // U+FF5E folds to the plain tilde.
      ['', '10', '9', '_x', 'Apfel', 'Arger', 'arger 0', 'arger Z', 'arger a2', 'Ärger', 'éclair', 'Zebra', 'zeta', '～', '😀'],
    );
    const reverse = await catalogue.list({ options: { ...all, order: -1 }, viewer: admin });
    assert.deepEqual(reverse.list, list.toReversed());
  });

  test('documents without the field come first, and in the reverse last; equal ones stay alphabetical', async (t) => {
    const catalogue = await openWith(t, store, [
      { _id: '1', name: 'b', lastRunAt: '2026-02-01T00:00:00.000Z' },
      { _id: '2', name: 'd' },
      { _id: '3', name: 'C', lastRunAt: '2026-01-01T00:00:00.000Z' },
      { _id: '4', name: 'c' },
      { _id: '5', name: 'a', lastRunAt: '2026-02-01T00:00:00.000Z' },
    ]);
    assert.deepEqual((await idsOf(catalogue, { sort: 'lastRunAt' })).ids, ['4', '2', '3', '5', '1']);
    assert.deepEqual((await idsOf(catalogue, { sort: 'lastRunAt', order: -1 })).ids, ['1', '5', '3', '2', '4']);
  });

  test('order, filters and pages agree with a plain reading of the contract, for any documents', async (t) => {
    const database = await store.open(t);
    const catalogue = createAutomationStore(database);
    await fc.assert(
      fc
        .asyncProperty(
          fc.array(automationParts, { maxLength: 12 }),
          fc.array(filter, { maxLength: 2 }),
          fc.constantFrom<TextField>('name', '_id', 'lastModifiedBy', 'data.description'),
          fc.integer({ min: 1, max: 5 }),
          async (parts, filters, sort, limit) => {
            const automations = parts.map((part, index) => automationOf(index, part));
            for (const automation of automations) await catalogue.insert(automation);
            const expected = inOrder(automations, sort).filter((automation) => filters.every((each) => fits(automation, each)));
            for (const order of [1, -1] as const) {
              const pages: Automation[] = [];
              for (let skip = 0; skip <= expected.length; skip += limit) {
                const page = await catalogue.list({ options: { limit, skip, sort, order, filters }, viewer: admin });
                assert.equal(page.total, expected.length);
                pages.push(...page.list);
              }
              assert.deepEqual(pages, order === 1 ? expected : expected.toReversed());
            }
          },
        )
        .afterEach(async () => {
          await database.query.deleteFrom('automation').execute();
        }),
      { numRuns: 50 },
    );
  });

  test('filters combine with AND and fold as the order does; a % stands for itself', async (t) => {
    const catalogue = await openWith(t, store, [
      { _id: '1', name: 'Über 100% Last', lastModifiedBy: 'Ada' },
      { _id: '2', name: 'uber 100 Last', lastModifiedBy: 'ADA' },
      { _id: '3', name: 'Last', data: { description: 'über' } },
    ]);
    const find = async (...filters: readonly TextFilter[]) => (await idsOf(catalogue, { filters })).ids;
    assert.deepEqual(await find({ kind: 'startsWith', field: 'name', text: 'ÜBER' }), ['2', '1']);
    assert.deepEqual(await find({ kind: 'contains', field: 'name', text: '0%' }), ['1']);
    assert.deepEqual(await find({ kind: 'contains', field: 'data.description', text: '' }), ['3']);
    assert.deepEqual(await find({ kind: 'startsWith', field: 'lastModifiedBy', text: '' }), ['2', '1']);
    assert.deepEqual(
      await find({ kind: 'equals', field: 'lastModifiedBy', text: 'ada' }, { kind: 'contains', field: 'name', text: '%' }),
      ['1'],
    );
    assert.deepEqual(await find({ kind: 'equals', field: 'name', text: "' or 1=1 --" }), []);
  });

  test('a limit of 0 counts alone, and a page behind the end is empty', async (t) => {
    const catalogue = await openWith(t, store, named('a', 'b', 'c'));
    assert.deepEqual(await idsOf(catalogue, { limit: 0 }), { ids: [], total: 3 });
    assert.deepEqual(await idsOf(catalogue, { skip: 3 }), { ids: [], total: 3 });
    assert.deepEqual(await idsOf(catalogue, { skip: Number.MAX_SAFE_INTEGER }), { ids: [], total: 3 });
    assert.deepEqual(await idsOf(catalogue, { skip: 1, limit: 1 }), { ids: ['a1'], total: 3 });
  });

  test('R82: a read list keeps an automation to its reading and writing groups, and out of the count of others', async (t) => {
    const catalogue = await openWith(t, store, [
      { _id: 'open', name: '1' },
      { _id: 'empty', name: '2', data: { gbac: { read: [], write: ['ops'] } } },
      { _id: 'write-only', name: '3', data: { gbac: { write: ['ops'] } } },
      { _id: 'noc', name: '4', data: { gbac: { read: ['noc', 'noc'], write: ['ops', 'noc'] } } },
      { _id: 'security', name: '5', data: { gbac: { read: ['security'] } } },
    ]);
    const seenBy = async (...groups: readonly string[]) => idsOf(catalogue, {}, { seesAll: false, groups });
    const everybody = ['open', 'empty', 'write-only'];
    assert.deepEqual(await seenBy(), { ids: everybody, total: 3 });
    assert.deepEqual(await seenBy('sales', 'NOC', 'no', '', 'noc\0'), { ids: everybody, total: 3 });
    assert.deepEqual(await seenBy('noc'), { ids: [...everybody, 'noc'], total: 4 });
    assert.deepEqual(await seenBy('ops'), { ids: [...everybody, 'noc'], total: 4 });
    assert.deepEqual(await seenBy('security', 'ops', 'noc'), { ids: [...everybody, 'noc', 'security'], total: 5 });
    assert.deepEqual(await idsOf(catalogue, {}), { ids: [...everybody, 'noc', 'security'], total: 5 });
    assert.deepEqual(await idsOf(catalogue, { limit: 0 }, { seesAll: false, groups: ['noc'] }), { ids: [], total: 4 });
    const filters: readonly TextFilter[] = [{ kind: 'equals', field: '_id', text: 'security' }];
    assert.deepEqual(await idsOf(catalogue, { filters }, { seesAll: false, groups: ['noc'] }), { ids: [], total: 0 });
  });

  test('many groups, of a document and of a caller, are no trouble', async (t) => {
    const groups = Array.from({ length: 1200 }, (_, index) => `group ${index}`);
    const catalogue = await openWith(t, store, [{ _id: '1', name: 'n', data: { gbac: { read: groups } } }]);
    assert.equal((await idsOf(catalogue, {}, { seesAll: false, groups: ['group 1199'] })).total, 1);
    const many = Array.from({ length: 8000 }, (_, index) => `other ${index}`);
    assert.equal((await idsOf(catalogue, {}, { seesAll: false, groups: many })).total, 0);
    assert.equal((await idsOf(catalogue, {}, { seesAll: false, groups: [...many, 'group 0'] })).total, 1);
  });

  test('an _id that is taken is refused, and the groups of the refused document do not stay', async (t) => {
    const catalogue = await openWith(t, store, [{ _id: '1', name: 'a', data: { gbac: { read: ['noc'] } } }]);
    await assert.rejects(catalogue.insert({ _id: '1', name: 'b', data: { gbac: { read: ['sales'] } } }), isUniqueViolation);
    assert.equal((await idsOf(catalogue, {}, { seesAll: false, groups: ['sales'] })).total, 0);
  });
});
