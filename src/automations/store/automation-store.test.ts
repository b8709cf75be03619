import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { GatewayError } from '#base/gateway-error.ts';
import type { Database } from '#database/database.ts';
import { eachStore, type TestStore } from '../../../test/support/stores/stores.ts';
import { type Automation, type TextField, textFields, textOf } from '../automation.ts';
import type { ListOptions, TextFilter } from '../list-options.ts';
import type { Viewer } from './automation-list-store.ts';
import { type AutomationStore, createAutomationStore } from './automation-store.ts';
import { foldText } from './sort-key.ts';

const all: ListOptions = { limit: 1000, skip: 0, sort: 'name', order: 1, filters: [] };
const admin: Viewer = { seesAll: true, groups: [] };

async function openWith(t: TestContext, store: TestStore, automations: readonly Automation[]): Promise<AutomationStore> {
  const catalogue = createAutomationStore(await store.open(t));
  await put(catalogue, automations);
  return catalogue;
}

async function put(store: AutomationStore, automations: readonly Automation[]): Promise<void> {
  assert.deepEqual(await store.change((writer) => writer.insert(automations)), []);
}

async function listed(
  store: AutomationStore,
  options: Partial<ListOptions> = {},
  viewer: Viewer = admin,
): Promise<{ readonly list: readonly Automation[]; readonly total: number }> {
  const { list, total } = await store.list({ options: { ...all, ...options }, viewer });
  return { list: list.map((text) => JSON.parse(text) as Automation), total };
}

/** The `_id`s of a page and its total. */
async function idsOf(
  store: AutomationStore,
  options: Partial<ListOptions>,
  viewer: Viewer = admin,
): Promise<{ readonly ids: readonly string[]; readonly total: number }> {
  const { list, total } = await listed(store, options, viewer);
  return { ids: list.map(({ _id }) => _id), total };
}

function named(...names: readonly string[]): readonly Automation[] {
  return names.map((name, index) => ({ _id: `a${index}`, name }));
}

/** The documented order, implemented without bytes: by code points. */
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
const groupLists = fc.constantFrom(
  undefined,
  { read: ['noc'] },
  { read: ['ops'], write: ['noc'] },
  { read: ['ops'] },
  { write: ['ops'] },
);
const automationParts = fc.record({
  gbac: groupLists,
  name: word,
  lastModifiedBy: fc.option(word, { nil: undefined }),
  description: fc.option(word, { nil: undefined }),
});
const filter: fc.Arbitrary<TextFilter> = fc.record({
  kind: fc.constantFrom('contains', 'equals', 'startsWith'),
  field: fc.constantFrom('name', 'lastModifiedBy', 'data.description', '_id', 'nextRunAt'),
  text: word,
});

interface AutomationParts {
  readonly name: string;
  readonly lastModifiedBy?: string | undefined;
  readonly description?: string | undefined;
  readonly gbac?: { readonly read?: readonly string[]; readonly write?: readonly string[] } | undefined;
}

function automationOf(id: number, { name, lastModifiedBy, description, gbac }: AutomationParts): Automation {
  const data = { ...(gbac && { gbac }), ...(description === undefined ? {} : { description }) };
  return {
    _id: `${id % 2 === 0 ? 'A' : 'a'}${id}`,
    name,
    ...(Object.keys(data).length === 0 ? {} : { data }),
    ...(lastModifiedBy === undefined ? {} : { lastModifiedBy }),
  };
}

function isSeen({ data }: Automation, { seesAll, groups }: Viewer): boolean {
  const { read = [], write = [] } = data?.gbac ?? {};
  return seesAll || read.length === 0 || [...read, ...write].some((group) => groups.includes(group));
}

/** The rows of the tables that follow the automations. */
async function restOf({ query }: Database): Promise<readonly unknown[]> {
  const texts = await query.selectFrom('automation_text').select('number').execute();
  return [...texts, ...(await query.selectFrom('automation_group').select('group_name').execute())];
}

eachStore((store) => {
  test('an empty catalogue is an empty list', async (t) => {
    const catalogue = await openWith(t, store, []);
    assert.deepEqual(await listed(catalogue), { list: [], total: 0 });
  });

  test('a document is listed as it was inserted, without fields that have no value', async (t) => {
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
    const { list } = await listed(catalogue);
    assert.deepEqual(list, [bare, whole]);
    for (const sort of textFields) {
      assert.equal((await listed(catalogue, { sort })).total, 2, sort);
    }
  });

  test('R85: names are alphabetical without case and accents, by code point, ties by exact name', async (t) => {
    const catalogue = await openWith(t, store, [
      ...named('zeta', 'Ärger', 'arger', 'Arger', 'Zebra', '😀', '～', 'éclair', '_x', 'Apfel', '10', '9', ''),
    ]);
    const { list } = await listed(catalogue);
    assert.deepEqual(
      list.map(({ name }) => name),
      // U+FF5E folds to the plain tilde.
      ['', '10', '9', '_x', 'Apfel', 'Arger', 'arger', 'Ärger', 'éclair', 'Zebra', 'zeta', '～', '😀'],
    );
    const reverse = await listed(catalogue, { order: -1 });
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

  test('the text and the groups of a document go with it', async (t) => {
    const database = await store.open(t);
    const catalogue = createAutomationStore(database);
    await put(catalogue, [{ _id: 'x', name: 'x', data: { gbac: { read: ['secret'] } } }]);
    assert.equal((await restOf(database)).length, 2);
    await catalogue.change((writer) => writer.remove(['x']));
    assert.deepEqual(await restOf(database), []);
  });

  test('a catalogue is read as it was while one change has its lock and many wait', { timeout: 30_000 }, async (t) => {
    const catalogue = createAutomationStore(await store.open(t));
    await put(catalogue, [{ _id: 'x', name: 'x' }]);
    const [written, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const changes = [
      catalogue.change(async (writer) => {
        await writer.remove(['x']);
        written.resolve();
        await release.promise;
      }),
    ];
    await written.promise;
    // More than the pool of PostgreSQL has connections.
    for (let count = 0; count < 20; count += 1)
      changes.push(catalogue.change(async (writer) => void (await writer.remove(['y']))));
    const begun = performance.now();
    assert.equal((await listed(catalogue)).total, 1);
    assert.equal((await catalogue.read('x'))?.automation.name, 'x');
    const took = performance.now() - begun;
    release.resolve();
    await Promise.all(changes);
    assert.ok(took < 2_000, `${took} ms`);
    assert.equal((await listed(catalogue)).total, 0);
  });

  test('order, filters and pages agree with a plain implementation, for any documents', async (t) => {
    const database = await store.open(t);
    // Small enough that some searches find too many to sort.
    const catalogue = createAutomationStore(database, 3);
    await fc.assert(
      fc
        .asyncProperty(
          fc.uniqueArray(automationParts, { maxLength: 14, selector: ({ name }) => name }),
          fc.array(fc.nat({ max: 13 }), { maxLength: 8 }),
          fc.array(filter, { maxLength: 2 }),
          fc.constantFrom<TextField>('name', '_id', 'lastModifiedBy', 'data.description'),
          fc.integer({ min: 1, max: 5 }),
          fc.constantFrom(admin, { seesAll: false, groups: [] }, { seesAll: false, groups: ['noc'] }),
          async (parts, gone, filters, sort, limit, viewer) => {
            const automations = parts.map((part, index) => automationOf(index, part));
            for (const automation of automations) await put(catalogue, [automation]);
            const removed = new Set(gone.map((index) => automations[index]?._id ?? 'none'));
            await catalogue.change((writer) => writer.remove([...removed]));
            const left = automations.filter(({ _id }) => !removed.has(_id));
            const expected = inOrder(left, sort).filter(
              (automation) => isSeen(automation, viewer) && filters.every((each) => fits(automation, each)),
            );
            for (const order of [1, -1] as const) {
              const pages: Automation[] = [];
              for (let skip = 0; skip <= expected.length; skip += limit) {
                const page = await listed(catalogue, { limit, skip, sort, order, filters }, viewer);
                assert.equal(page.total, expected.length);
                pages.push(...page.list);
              }
              assert.deepEqual(pages, order === 1 ? expected : expected.toReversed());
            }
          },
        )
        .afterEach(async () => {
          const { list } = await listed(catalogue);
          await catalogue.change((writer) => writer.remove(list.map(({ _id }) => _id)));
          assert.deepEqual(await restOf(database), []);
        }),
      { numRuns: 30 },
    );
  });

  test('filters combine with AND and fold as the order does; a % matches itself alone', async (t) => {
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

  test('R82: a read list shows an automation only to its reading and writing groups, and counts it for them only', async (t) => {
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

  test('a document may have 1,200 groups, and a caller 8,000', async (t) => {
    const groups = Array.from({ length: 1200 }, (_, index) => `group ${index}`);
    const catalogue = await openWith(t, store, [{ _id: '1', name: 'n', data: { gbac: { read: groups } } }]);
    assert.equal((await idsOf(catalogue, {}, { seesAll: false, groups: ['group 1199'] })).total, 1);
    const many = Array.from({ length: 8000 }, (_, index) => `other ${index}`);
    assert.equal((await idsOf(catalogue, {}, { seesAll: false, groups: many })).total, 0);
    assert.equal((await idsOf(catalogue, {}, { seesAll: false, groups: [...many, 'group 0'] })).total, 1);
  });

  test('what has a taken _id or name is not inserted, and it is said what has it', async (t) => {
    const catalogue = await openWith(t, store, [{ _id: '1', name: 'a', data: { gbac: { read: ['noc'] } } }]);
    const conflicts = await catalogue.change((writer) =>
      writer.insert([
        { _id: '1', name: 'b', data: { gbac: { read: ['sales'] } } },
        { _id: '2', name: 'a' },
        { _id: '3', name: 'c' },
        { _id: '3', name: 'd' },
        { _id: '4', name: 'c' },
      ]),
    );
    assert.deepEqual(conflicts, [
      { index: 0, field: '_id', takenBy: '1' },
      { index: 1, field: 'name', takenBy: '1' },
      { index: 3, field: '_id', takenBy: '3' },
      { index: 4, field: 'name', takenBy: '3' },
    ]);
    assert.deepEqual(await idsOf(catalogue, {}), { ids: ['1', '3'], total: 2 });
    assert.equal((await idsOf(catalogue, {}, { seesAll: false, groups: ['sales'] })).total, 1);
  });

  test('a change that fails leaves nothing behind, and a change can insert what it removed', async (t) => {
    const catalogue = await openWith(t, store, named('a', 'b', 'c'));
    const failed = catalogue.change(async (writer) => {
      assert.equal(await writer.remove(['a0', 'a1', 'missing']), 2);
      await writer.insert(named('x'));
      throw new Error('changed my mind');
    });
    await assert.rejects(failed, /changed my mind/u);
    assert.deepEqual(await idsOf(catalogue, {}), { ids: ['a0', 'a1', 'a2'], total: 3 });
    await catalogue.change(async (writer) => {
      await writer.remove(['a0', 'a1']);
      assert.deepEqual(await writer.insert(named('b', 'a')), []);
      assert.equal((await writer.read('a0'))?.automation.name, 'b');
    });
    assert.deepEqual(await idsOf(catalogue, {}), { ids: ['a1', 'a0', 'a2'], total: 3 });
    assert.equal(await catalogue.read('missing'), undefined);
  });

  test('descriptions beyond what an index holds are sorted and searched to their last character', async (t) => {
    const long = 'é'.repeat(3_000);
    const catalogue = await openWith(t, store, [
      { _id: '1', name: 'a', data: { description: `${long}z` } },
      { _id: '2', name: 'b', data: { description: `${long}b` } },
      { _id: '3', name: 'c', data: { description: 'x' } },
      { _id: '4', name: 'd' },
    ]);
    assert.deepEqual((await idsOf(catalogue, { sort: 'data.description' })).ids, ['4', '2', '1', '3']);
    const filters: readonly TextFilter[] = [{ kind: 'contains', field: 'data.description', text: 'EZ' }];
    assert.deepEqual(await idsOf(catalogue, { filters }), { ids: ['1'], total: 1 });
    const whole: readonly TextFilter[] = [{ kind: 'equals', field: 'data.description', text: `${long}B` }];
    assert.deepEqual(await idsOf(catalogue, { filters: whole }), { ids: ['2'], total: 1 });
  });

  test('every page of a catalogue is what its viewer sees, in order, from either end', async (t) => {
    const catalogue = createAutomationStore(await store.open(t));
    const names = Array.from({ length: 500 }, (_, index) => `${(index * 7919) % 500}`.padStart(3, '0'));
    const automations = names.map((name, index) => ({ _id: `i${index}`, name, ...(index % 3 === 0 && { data: kept(index) }) }));
    await put(catalogue, automations);
    for (const viewer of [admin, { seesAll: false, groups: ['g1'] }]) {
      const expected = inOrder(automations, 'name').filter((automation) => isSeen(automation, viewer));
      for (const skip of [0, 1, 9, 10, 11, 99, 250, expected.length - 3, expected.length]) {
        const { list, total } = await listed(catalogue, { skip, limit: 7 }, viewer);
        assert.deepEqual(list, expected.slice(skip, skip + 7));
        assert.equal(total, expected.length);
      }
    }
  });

  test('an export is the whole catalogue of one moment, in alphabetical order', async (t) => {
    const catalogue = await openWith(t, store, named(...Array.from({ length: 120 }, (_, index) => `n${index}`)));
    const exported: string[] = [];
    for await (const batch of catalogue.export()) {
      if (exported.length === 0) await catalogue.change((writer) => writer.remove(['a1', 'a99', 'a5']));
      exported.push(...batch);
    }
    const { list } = await listed(catalogue);
    assert.equal(list.length, 117);
    assert.equal(exported.length, 120);
    assert.deepEqual(exported, exported.toSorted());
  });

  test('searches take at most two connections of the store, however many run at once', async (t) => {
    const database = await store.open(t);
    const catalogue = createAutomationStore(database);
    await put(catalogue, named('a', 'b'));
    const filters: readonly TextFilter[] = [{ kind: 'contains', field: 'name', text: 'a' }];
    // Starts three connections: a thread that starts later could miss every search.
    await Promise.all([database.ping(), database.ping(), database.ping()]);
    const search = () => Promise.all(Array.from({ length: 30 }, () => listed(catalogue, { filters })));
    const ended = search();
    let most = 0;
    // Connections are taken and given back in turns of the event loop.
    for (let hasEnded = false; !hasEnded; ) {
      const { busy, waiting } = database.figures();
      assert.equal(waiting, 0);
      most = Math.max(most, busy);
      hasEnded = await Promise.race([ended.then(() => true), setImmediate(false)]);
    }
    assert.equal(most, 2);
    assert.ok((await ended).every(({ total }) => total === 1));
    const further = search();
    await database.ping();
    await further;
  });

  test('two exports may run, a third gets overloaded, and an aborted one makes room', async (t) => {
    const catalogue = await openWith(t, store, named('a'));
    const [one, two, three] = [catalogue.export(), catalogue.export(), catalogue.export()];
    await one.next();
    await two.next();
    await assert.rejects(three.next(), (error) => error instanceof GatewayError && error.code === 'overloaded');
    await one.return();
    const next = catalogue.export();
    assert.equal((await next.next()).done, false);
    await Promise.all([two.return(), next.return()]);
  });
});

function kept(index: number): Automation['data'] & object {
  return { gbac: { read: [`g${index % 4}`] } };
}
