// suite: waiting

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { noRights, testAdmin } from '../src/access/rights/rights.test-support.ts';
import type { Automation } from '../src/automations/automation.ts';
import { type AutomationCatalogue, createAutomationCatalogue } from '../src/automations/automation-catalogue.ts';
import type { GivenAutomation } from '../src/automations/automation-document.ts';
import { createDueAutomations } from '../src/automations/store/automation-due-store.ts';
import { type Clock, systemClock } from '../src/base/clock.ts';
import { GatewayError } from '../src/base/gateway-error.ts';
import { noLog } from '../src/base/log.ts';
import type { Database, StoreOptions } from '../src/database/database.ts';
import { createStoppedClock, ending, newRun, released, stepOf } from '../src/runs/journal/run-records.test-support.ts';
import type { NewRun } from '../src/runs/journal/run-records.ts';
import { createRunStore, type RunStore } from '../src/runs/journal/run-store.ts';
import type { DecidingOptions } from '../src/runs/schedules/decide-due.ts';
import { createScheduler, type Scheduler } from '../src/runs/schedules/scheduler.ts';
import { eachStore, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';

const principal = { id: 'ada', username: 'ada', roles: ['admin'], groups: [] } as const;
const preconditions = {};
const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000] as const;

/** One gateway's part in the schedules of a store. */
interface Gateway {
  readonly catalogue: AutomationCatalogue;
  readonly runs: RunStore;
  readonly scheduler: Scheduler;
  readonly database: Database;
  /** The details of the records `skipped`, by their due time. */
  readonly skipped: Map<string, string>;
  /** Who the runs belong to. */
  readonly owners: string[];
}

function gatewayOn(
  t: TestContext,
  { database, clock }: { readonly database: Database; readonly clock: Clock },
  changed: (usual: DecidingOptions) => Partial<DecidingOptions> = () => ({}),
): Gateway {
  const runs = createRunStore({ database, clock, visible: () => undefined, time: 'process' });
  const skipped = new Map<string, string>();
  const owners: string[] = [];
  const usual: DecidingOptions = {
    automations: createDueAutomations(database),
    createWith: (work) => runs.changeWith(work),
    async start({ automation, people, due, schedule }) {
      owners.push(people.scheduler?.username ?? '');
      const { _id: id, name } = automation;
      return { run: newRun({ automation: { id, name }, startedBy: { schedule, due } }) };
    },
    audit: { record: ({ due, detail }) => void skipped.set(due, detail) },
    clock,
    log: noLog,
    watcher: { started() {}, skipped() {} },
  };
  const scheduler = createScheduler({ ...usual, ...changed(usual), database, retention: 30 * day });
  t.after(async () => {
    await scheduler.close();
    await runs.close();
  });
  return {
    catalogue: createAutomationCatalogue({
      database,
      clock,
      rights: noRights,
      whyNotWriter: async () => undefined,
      refuseAuthor: async () => {},
      asksAuthors: () => false,
    }),
    runs,
    scheduler,
    database,
    skipped,
    owners,
  };
}

async function opened(t: TestContext, store: TestStore, start: string, options?: Parameters<typeof gatewayOn>[2]) {
  const clock = createStoppedClock(Date.parse(start));
  const database = await store.open(t);
  await storeWorkflow(database);
  return { ...gatewayOn(t, { database, clock }, options), clock };
}

async function storeWorkflow({ query }: Database, id = 'lab.sync'): Promise<void> {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  await query
    .insertInto('workflow')
    .values({
      id: bytes(id),
      version: bytes('1.0.0'),
      version_key: bytes('1.0.0'),
      document: bytes('{}'),
      media_type: 'application/json',
      definition: '{}',
      facts: '{}',
      created_at: 1,
      created_by: 'ada',
      digest: '',
      storers: null,
      lowest: 0,
    })
    .execute();
}

const data = { workflowId: 'lab.sync' };

async function created({ catalogue }: Gateway, given: GivenAutomation): Promise<string> {
  const { id } = await catalogue.create({ principal, given: { ...given, data: { ...data, ...given.data } } });
  return id;
}

/** The due times of the scheduled runs, in order, without seconds. */
async function runsOf({ runs }: Gateway, automation: string): Promise<readonly string[]> {
  const list = await runs.list({ automation }, { limit: 1_000 });
  const due = list.map(({ startedBy }: Pick<NewRun, 'startedBy'>) => ('due' in startedBy ? startedBy.due : 0));
  return due.toSorted((one, other) => one - other).map((time) => new Date(time).toISOString().slice(0, 16));
}

async function automationIn({ catalogue }: Gateway, id: string): Promise<Automation> {
  return JSON.parse((await catalogue.read({ principal, id })).text) as Automation;
}

async function nextOf(gateway: Gateway, id: string): Promise<string | undefined> {
  return (await automationIn(gateway, id)).nextRunAt?.slice(0, 16);
}

async function endRuns({ runs }: Gateway): Promise<void> {
  const claimed = await runs.claim({ owner: 'tests', limit: 100, lease: minute });
  for (const run of claimed) assert.equal(await runs.save(stepOf(run, { ...ending, ...released() })), 'saved');
}

eachStore((store) => {
  test('three gateways on one store begin one run for each due time', async (t) => {
    const clock = createStoppedClock(Date.parse('2026-05-01T00:00Z'));
    const options: StoreOptions = await store.empty(t);
    const first = await store.open(t, options);
    const databases =
      store.dialect === 'postgres' ? [first, await store.open(t, options), await store.open(t, options)] : [first, first, first];
    await storeWorkflow(first);
    const gateways = databases.map((database) => gatewayOn(t, { database, clock }));
    const [gateway] = gateways;
    assert.ok(gateway !== undefined);
    const ids: string[] = [];
    for (let index = 0; index < 60; index += 1) {
      const nextRunAt = new Date(clock.now() + (index % 3) * minute).toISOString();
      ids.push(await created(gateway, { name: `a${index}`, nextRunAt, repeatInterval: '10 minutes' }));
    }
    for (const passes of [0, 5, 5, 5]) {
      clock.pass(passes * minute);
      await Promise.all(gateways.map(({ scheduler }) => scheduler.round()));
      await endRuns(gateway);
    }
    const expected = (offset: number) => [0, 10].map((minutes) => `2026-05-01T00:${String(minutes + offset).padStart(2, '0')}`);
    const found = await Promise.all(ids.map((id) => runsOf(gateway, id)));
    assert.deepEqual(
      found,
      ids.map((_, index) => expected(index % 3)),
    );
  });

  test('a run belongs to who changed the automation last, and both its times are noted', async (t) => {
    const gateway = await opened(t, store, '2026-05-01T12:00Z');
    const { clock, scheduler } = gateway;
    const id = await created(gateway, { name: 'a', nextRunAt: '2026-05-01T12:00Z', repeatInterval: '1 hour' });
    await scheduler.round();
    const { lastRunAt, nextRunAt } = await automationIn(gateway, id);
    assert.deepEqual([lastRunAt, nextRunAt], ['2026-05-01T12:00:00.000Z', '2026-05-01T13:00:00.000Z']);
    assert.deepEqual([await runsOf(gateway, id), gateway.owners], [['2026-05-01T12:00'], ['ada']]);
    clock.pass(hour - 1);
    await scheduler.round();
    assert.equal((await runsOf(gateway, id)).length, 1);
  });

  test('times that were missed make one run, for the latest, and the next time is in the future', async (t) => {
    const gateway = await opened(t, store, '2026-05-01T00:00Z');
    const id = await created(gateway, { name: 'a', nextRunAt: '2026-05-01T00:10Z', repeatInterval: '10 minutes' });
    const cron = await created(gateway, { name: 'b', data: { cron: '15 3 * * *' } });
    gateway.clock.pass(3 * day + 25 * minute);
    await gateway.scheduler.round();
    assert.deepEqual([await runsOf(gateway, id), await nextOf(gateway, id)], [['2026-05-04T00:20'], '2026-05-04T00:30']);
    assert.deepEqual([await runsOf(gateway, cron), await nextOf(gateway, cron)], [['2026-05-03T03:15'], '2026-05-04T03:15']);
  });

  test('a due time is skipped and on record while the run before has not ended', async (t) => {
    const gateway = await opened(t, store, '2026-05-01T00:00Z');
    const { clock, scheduler, skipped } = gateway;
    const id = await created(gateway, { name: 'a', nextRunAt: '2026-05-01T00:00Z', repeatInterval: '1 hour' });
    for (const passes of [0, hour, hour]) {
      clock.pass(passes);
      await scheduler.round();
    }
    assert.deepEqual([await runsOf(gateway, id), await nextOf(gateway, id)], [['2026-05-01T00:00'], '2026-05-01T03:00']);
    assert.deepEqual([...skipped.keys()], ['2026-05-01T01:00:00.000Z', '2026-05-01T02:00:00.000Z']);
    assert.match([...skipped.values()].join(), /not ended/u);
    await endRuns(gateway);
    clock.pass(hour);
    await scheduler.round();
    assert.deepEqual(await runsOf(gateway, id), ['2026-05-01T00:00', '2026-05-01T03:00']);
  });

  test('a paused automation does not run until its time is written', async (t) => {
    const gateway = await opened(t, store, '2026-05-01T00:00Z');
    const { clock, scheduler, catalogue } = gateway;
    const id = await created(gateway, { name: 'a', data: { cron: '0 * * * *' } });
    await catalogue.patch({ principal, id, preconditions, patch: { nextRunAt: null } });
    clock.pass(day);
    await scheduler.round();
    assert.deepEqual([await runsOf(gateway, id), await nextOf(gateway, id)], [[], undefined]);
    await catalogue.patch({ principal, id, preconditions, patch: { nextRunAt: '2026-05-02T00:30Z' } });
    clock.pass(hour);
    await scheduler.round();
    assert.deepEqual(await runsOf(gateway, id), ['2026-05-02T01:00']);
  });

  test('a time in the past without an interval makes one run, then it is gone, and the same time makes no second run', async (t) => {
    const gateway = await opened(t, store, '2026-05-01T00:00Z');
    const { scheduler, catalogue } = gateway;
    const id = await created(gateway, { name: 'a', nextRunAt: '2020-01-01T00:00Z' });
    await scheduler.round();
    assert.deepEqual([await runsOf(gateway, id), await nextOf(gateway, id)], [['2020-01-01T00:00'], undefined]);
    await endRuns(gateway);
    await catalogue.patch({ principal, id, preconditions, patch: { nextRunAt: '2020-01-01T00:00Z' } });
    await scheduler.round();
    assert.deepEqual([await runsOf(gateway, id), await nextOf(gateway, id)], [['2020-01-01T00:00'], undefined]);
    await catalogue.patch({ principal, id, preconditions, patch: { nextRunAt: '2020-01-02T00:00Z' } });
    await scheduler.round();
    assert.deepEqual(await runsOf(gateway, id), ['2020-01-01T00:00', '2020-01-02T00:00']);
  });

  test('an automation without its workflow is not due, and runs once when a writer takes it after the workflow came', async (t) => {
    const gateway = await opened(t, store, '2026-05-01T00:00Z');
    const { clock, scheduler, database, catalogue } = gateway;
    const given = { nextRunAt: '2026-05-01T00:00Z', repeatInterval: '1 hour' };
    const later = await created(gateway, { name: 'a', ...given, data: { workflowId: 'lab.later' } });
    const other = await created(gateway, { name: 'b', ...given, data: { workflowId: 'Lab.Sync' } });
    const without = await created(gateway, { name: 'c', ...given, data: { workflowId: '' } });
    clock.pass(3 * hour);
    await scheduler.round();
    await storeWorkflow(database, 'lab.later');
    await scheduler.round();
    for (const id of [other, without, later]) {
      assert.deepEqual([await runsOf(gateway, id), await nextOf(gateway, id)], [[], '2026-05-01T00:00']);
      await catalogue.take({ principal, id, preconditions: {} });
    }
    await scheduler.round();
    for (const id of [other, without]) assert.deepEqual(await runsOf(gateway, id), []);
    assert.deepEqual([await runsOf(gateway, later), await nextOf(gateway, later)], [['2026-05-01T03:00'], '2026-05-01T04:00']);
  });

  test('times from before the tables of schedules do not run, and an interval goes on after them', async (t) => {
    const clock = createStoppedClock(Date.parse('2026-05-01T12:30Z'));
    const database = await store.open(t);
    await storeWorkflow(database);
    // Before the scheduler, which reads it once.
    const applied_at = Date.parse('2026-05-01T12:00Z');
    await database.records.updateTable('schema_migration').set({ applied_at }).where('number', '=', 10).execute();
    const gateway = gatewayOn(t, { database, clock });
    const { scheduler, catalogue } = gateway;
    const nextRunAt = '2026-04-01T00:00:00.000Z';
    const old = [
      { _id: 'once', name: 'once', data, nextRunAt },
      { _id: 'hourly', name: 'hourly', data, nextRunAt, repeatInterval: '1 hour' },
      { _id: 'soon', name: 'soon', data, nextRunAt, repeatInterval: '20 minutes' },
    ];
    await catalogue.import({
      principal: testAdmin,
      source: (async function* () {
        yield Buffer.from(old.map((each) => JSON.stringify(each)).join('\n'));
      })(),
    });
    await scheduler.round();
    const state = async (id: string) => [await runsOf(gateway, id), await nextOf(gateway, id)];
    assert.deepEqual(await state('once'), [[], undefined]);
    assert.deepEqual(await state('hourly'), [['2026-05-01T12:00'], '2026-05-01T13:00']);
    assert.deepEqual(await state('soon'), [['2026-05-01T12:20'], '2026-05-01T12:40']);
    await catalogue.patch({ principal, id: 'once', preconditions, patch: { nextRunAt } });
    clock.pass(second);
    await scheduler.round();
    assert.deepEqual(await state('once'), [['2026-04-01T00:00'], undefined]);
  });

  test('a clock that is set back repeats no run, and one that is set forward leaves out what it passed', async (t) => {
    const gateway = await opened(t, store, '2026-05-01T00:00Z');
    const { clock, scheduler } = gateway;
    const id = await created(gateway, { name: 'a', nextRunAt: '2026-05-01T00:00Z', repeatInterval: '1 hour' });
    for (const passes of [0, hour, -2 * hour, hour, 30 * minute, 90 * minute, 5 * hour, -4 * hour, 2 * hour, 3 * hour]) {
      clock.pass(passes);
      await scheduler.round();
      await endRuns(gateway);
    }
    const expected = ['00:00', '01:00', '02:00', '07:00', '08:00'].map((time) => `2026-05-01T${time}`);
    assert.deepEqual(await runsOf(gateway, id), expected);
  });

  test('cron times run once a night over both changes of the clock in Berlin', async (t) => {
    for (const [start, expected] of [
      ['2026-03-28T12:00Z', ['2026-03-29T01:00', '2026-03-30T00:30']],
      ['2026-10-24T12:00Z', ['2026-10-25T00:30', '2026-10-26T01:30']],
    ] as const) {
      const gateway = await opened(t, store, start);
      const { clock, scheduler } = gateway;
      const id = await created(gateway, { name: 'a', data: { cron: '30 2 * * *', timeZone: 'Europe/Berlin' } });
      for (let passed = 0; passed < 40 * hour; passed += 30 * minute) {
        clock.pass(30 * minute);
        await scheduler.round();
        await endRuns(gateway);
      }
      assert.deepEqual(await runsOf(gateway, id), expected);
    }
  });

  test('an automation whose run is refused is skipped with the reason, and the next time is decided again', async (t) => {
    const gateway = await opened(t, store, '2026-05-01T00:00Z', () => ({
      start: async () => ({ refused: 'The user does not exist any more.', code: 'person-gone' }),
    }));
    const id = await created(gateway, { name: 'a', nextRunAt: '2026-05-01T00:00Z', repeatInterval: '1 hour' });
    await gateway.scheduler.round();
    assert.deepEqual([await runsOf(gateway, id), await nextOf(gateway, id)], [[], '2026-05-01T01:00']);
    assert.deepEqual([...gateway.skipped], [['2026-05-01T00:00:00.000Z', 'The user does not exist any more.']]);
  });

  test('an occurrence whose run cannot be made now is decided later, and holds no other up', async (t) => {
    let isBroken = true;
    const gateway = await opened(t, store, '2026-05-01T00:00Z', ({ start }) => ({
      start: async (occurrence) => {
        if (isBroken && occurrence.automation.name === 'a') throw new Error('no jq thread');
        return start(occurrence);
      },
    }));
    const [nextRunAt, { clock, scheduler }] = ['2026-05-01T00:00Z', gateway];
    const [id, other] = [await created(gateway, { name: 'a', nextRunAt }), await created(gateway, { name: 'b', nextRunAt })];
    await scheduler.round();
    assert.deepEqual([await runsOf(gateway, id), await runsOf(gateway, other)], [[], ['2026-05-01T00:00']]);
    isBroken = false;
    clock.pass(minute);
    assert.equal(scheduler.figures().latenessMs, minute);
    await scheduler.round();
    assert.deepEqual([await runsOf(gateway, id), scheduler.figures().latenessMs], [['2026-05-01T00:00'], 0]);
  });

  test('a run that the store refuses is tried by itself, and the others of its transaction begin', async (t) => {
    const gateway = await opened(t, store, '2026-05-01T00:00Z', ({ start }) => ({
      start: async (occurrence) => {
        const started = await start(occurrence);
        const isBad = 'run' in started && occurrence.automation.name === 'a';
        // Of a wrong type: no store takes it.
        return isBad ? { run: { ...started.run, workflow: null as unknown as string } } : started;
      },
    }));
    const nextRunAt = '2026-05-01T00:00Z';
    const [id, other] = [await created(gateway, { name: 'a', nextRunAt }), await created(gateway, { name: 'b', nextRunAt })];
    await gateway.scheduler.round();
    assert.deepEqual([await runsOf(gateway, id), await nextOf(gateway, id)], [[], '2026-05-01T00:00']);
    assert.deepEqual(await runsOf(gateway, other), ['2026-05-01T00:00']);
  });

  test('an occurrence is kept while the store is away', async (t) => {
    let isAway = true;
    const gateway = await opened(t, store, '2026-05-01T00:00Z', ({ createWith }) => ({
      createWith: (work) => {
        if (isAway) return Promise.reject(new GatewayError('store-unavailable', 'away'));
        return createWith(work);
      },
    }));
    const { clock, scheduler } = gateway;
    const id = await created(gateway, { name: 'a', nextRunAt: '2026-05-01T00:00Z', repeatInterval: '1 hour' });
    await assert.rejects(scheduler.round());
    clock.pass(3 * minute);
    await assert.rejects(scheduler.round());
    isAway = false;
    await scheduler.round();
    assert.deepEqual([await runsOf(gateway, id), await nextOf(gateway, id)], [['2026-05-01T00:00'], '2026-05-01T01:00']);
  });

  test('a run that began is noted by the next look, where the catalogue could not be written, and begins no second time', async (t) => {
    let isAway = true;
    const gateway = await opened(t, store, '2026-05-01T00:00Z', ({ automations }) => ({
      automations: {
        ...automations,
        // As after a kill between both transactions.
        moveOn: (all) => (isAway ? Promise.reject(new GatewayError('store-unavailable', 'away')) : automations.moveOn(all)),
      },
    }));
    const { clock, scheduler } = gateway;
    const id = await created(gateway, { name: 'a', nextRunAt: '2026-05-01T00:00Z', repeatInterval: '1 hour' });
    await assert.rejects(scheduler.round());
    assert.deepEqual([await runsOf(gateway, id), await nextOf(gateway, id)], [['2026-05-01T00:00'], '2026-05-01T00:00']);
    isAway = false;
    clock.pass(minute);
    await scheduler.round();
    const { lastRunAt, nextRunAt } = await automationIn(gateway, id);
    assert.deepEqual([lastRunAt, nextRunAt], ['2026-05-01T00:00:00.000Z', '2026-05-01T01:00:00.000Z']);
    assert.deepEqual(await runsOf(gateway, id), ['2026-05-01T00:00']);
  });

  test('a scheduler begins runs by itself, after a change and when the time comes', async (t) => {
    const options = await store.empty(t);
    const database = await store.open(t, options);
    await storeWorkflow(database);
    const gateway = gatewayOn(t, { database, clock: systemClock });
    // The change is made by another gateway, where the store can tell of that.
    const writing =
      store.dialect === 'postgres' ? gatewayOn(t, { database: await store.open(t, options), clock: systemClock }) : gateway;
    let changes = 0;
    const silence = gateway.catalogue.onChange(() => {
      changes += 1;
      gateway.scheduler.changed();
    });
    // The connection that listens tells first that it may have missed something.
    if (store.dialect === 'postgres') await until('the gateway listens', () => changes > 0);
    changes = 0;
    await gateway.scheduler.round();
    const soon = new Date(Date.now() + 1_500).toISOString();
    const id = await created(writing, { name: 'a', nextRunAt: soon });
    await until('the gateway learns of the change', () => changes > 0);
    silence();
    await until('the run begins', async () => (await runsOf(gateway, id)).length === 1);
    assert.ok(Date.now() >= Date.parse(soon));
    await until('the automation is not due again', async () => (await nextOf(gateway, id)) === undefined);
  });

  test('occurrences are forgotten after the retention, and younger ones are not', async (t) => {
    const gateway = await opened(t, store, '2026-05-01T00:00Z');
    const { clock, scheduler, database } = gateway;
    await created(gateway, { name: 'a', nextRunAt: '2026-05-01T00:00Z' });
    await scheduler.round();
    const count = async () => (await database.records.selectFrom('occurrence').select('due').execute()).length;
    clock.pass(29 * day);
    await scheduler.round();
    assert.equal(await count(), 1);
    clock.pass(2 * day);
    await scheduler.round();
    assert.equal(await count(), 0);
  });
});
