import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { noRights } from '#access/rights/rights.test-support.ts';
import { systemClock } from '#base/clock.ts';
import { lapse } from '../../../test/support/lapse.ts';
import { sqliteStore } from '../../../test/support/stores/stores.ts';
import { until } from '../../../test/support/until.ts';
import { ending, eventNamed, newRun, seesNothing, stepOf } from '../journal/run-records.test-support.ts';
import { createRunStore, type RunStore } from '../journal/run-store.ts';
import { createEventTail, type TailOptions } from './event-tail.ts';
import { createRunVisibility } from './run-access.ts';
import { createRunFollower, type EventPages } from './run-follower.ts';

const admin = { id: 'ada', username: 'ada', roles: ['admin'], groups: [] } as const;
const usual: TailOptions = { poll: 50, page: 10, keeps: { events: 100, length: 100_000 } };
const times = { silence: 60_000, lifetime: 3_600_000, retryAfter: 10 };

interface Followed {
  readonly store: RunStore;
  /** The reads of the event log so far. */
  readonly reads: readonly Parameters<RunStore['events']>[0][];
  /** Sends events of callers. */
  readonly send: (...ids: string[]) => Promise<void>;
  readonly all: (after?: number) => Promise<EventPages>;
  readonly run: (id: string, hasEnded?: boolean) => Promise<EventPages | undefined>;
  readonly stop: () => void;
  /** While true the store answers no read. */
  away: boolean;
}

async function follow(t: TestContext, { tail = usual, given = times }: { tail?: TailOptions; given?: typeof times } = {}) {
  const database = await sqliteStore.open(t);
  const store = createRunStore({ database, clock: systemClock, visible: seesNothing });
  t.after(() => store.close());
  const reads: Parameters<RunStore['events']>[0][] = [];
  const counted: RunStore = {
    ...store,
    async events(options) {
      reads.push(options);
      if (followed.away) throw new Error('the store is away');
      return await store.events(options);
    },
  };
  const controller = new AbortController();
  t.after(() => controller.abort());
  const { signal } = controller;
  const visibility = createRunVisibility({
    store,
    rights: noRights,
    clock: systemClock,
    automation: async () => undefined,
    seesApproval: async () => false,
  });
  const follower = createRunFollower({
    store: counted,
    clock: systemClock,
    rights: noRights,
    visibility,
    tail: createEventTail(counted, tail),
    times: given,
  });
  const followed: Followed = {
    store,
    reads,
    send: (...ids) => store.publish(ids.map((id) => eventNamed(id))),
    all: (after) => follower.all(admin, { after, signal }),
    run: (id, hasEnded = false) => follower.run({ id, hasEnded }, { after: undefined, signal }),
    stop: () => controller.abort(),
    away: false,
  };
  return followed;
}

/** Reads so many events of a stream, and the silences between them. */
async function taken(pages: EventPages, count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const { value, done } = await pages.next();
    if (done === true) break;
    ids.push(...value.map(({ event }) => (JSON.parse(event) as { readonly id: string }).id));
  }
  return ids;
}

const named = (count: number): string[] => Array.from({ length: count }, (_, at) => `event ${at}`);

test('many streams share the reading of new events', async (t) => {
  const followed = await follow(t, { tail: { ...usual, poll: 60_000 } });
  const streams = await Promise.all(Array.from({ length: 50 }, () => followed.all()));
  const reading = Promise.all(streams.map((pages) => taken(pages, 3)));
  for (const id of ['a', 'b', 'c']) await followed.send(id);
  for (const ids of await reading) assert.deepEqual(ids, ['a', 'b', 'c']);
  // One at the opening, and at most two for each change: a change during a read asks for one more.
  assert.ok(followed.reads.length <= 7, `${followed.reads.length} reads`);
});

test('a stream that no one reads asks the store for nothing, and has all events when it is read again', async (t) => {
  const followed = await follow(t, { tail: { ...usual, keeps: { events: 5, length: 100_000 } } });
  const pages = await followed.all();
  await followed.send('event 0');
  assert.deepEqual(await taken(pages, 1), ['event 0']);
  const fast = await followed.all();
  for (const id of named(40).slice(1)) await followed.send(id);
  assert.deepEqual(await taken(fast, 39), named(40).slice(1));
  const before = followed.reads.filter(({ limit }) => limit === 50).length;
  await lapse(200, 'the stream would ask the store');
  assert.equal(followed.reads.filter(({ limit }) => limit === 50).length, before);
  assert.deepEqual(await taken(pages, 39), named(40).slice(1));
});

test('a stream that is silent says so', async (t) => {
  const followed = await follow(t, { given: { ...times, silence: 10 } });
  const pages = await followed.all();
  assert.deepEqual((await pages.next()).value, []);
  await followed.send('a');
  assert.deepEqual(await taken(pages, 1), ['a']);
  assert.deepEqual((await pages.next()).value, []);
});

test('a stream outlives a store that is away, and lacks no event', async (t) => {
  const followed = await follow(t);
  const pages = await followed.all(0);
  followed.away = true;
  await followed.send(...named(30));
  const reading = taken(pages, 60);
  await until('the stream has asked in vain', () => followed.reads.length > 5);
  await followed.send(...named(60).slice(30));
  followed.away = false;
  assert.deepEqual(await reading, named(60));
});

test('a stream ends at the end of its time', async (t) => {
  const followed = await follow(t, { given: { ...times, silence: 5, lifetime: 30 } });
  const pages = await followed.all();
  let ended = false;
  for (let silences = 0; !ended && silences < 1_000; silences += 1) ended = (await pages.next()).done === true;
  assert.ok(ended);
});

test('a stream ends at once when it is to end, while it waits for events', async (t) => {
  const followed = await follow(t);
  const pages = await followed.all();
  const next = pages.next();
  followed.stop();
  assert.deepEqual(await next, { value: undefined, done: true });
});

test('the stream of a run ends although the last event of the run is not its end, and also where the run was deleted', async (t) => {
  const followed = await follow(t, { given: { ...times, silence: 10 } });
  const { store } = followed;
  await store.create([newRun({ id: 'one' })]);
  const [claimed] = await store.claim({ owner: 'engine', limit: 1, lease: 60_000 });
  assert.ok(claimed !== undefined);
  const pages = await followed.run('one');
  assert.ok(pages !== undefined);
  await store.save(stepOf(claimed, { ...ending, endedAt: 1, events: [eventNamed('a')] }));
  assert.deepEqual(await taken(pages, 9), ['a']);
  assert.equal(await followed.run('none', true), undefined);
  const deleted = await followed.run('none');
  assert.ok(deleted !== undefined);
  assert.deepEqual(await taken(deleted, 1), []);
});
