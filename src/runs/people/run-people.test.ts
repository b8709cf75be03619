import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '#access/principal.ts';
import type { Storer } from '#workflows/catalogue/workflow-row.ts';
import { newRun } from '../journal/run-records.test-support.ts';
import type { RunPerson } from '../journal/run-records.ts';
import { createRunPeople } from './run-people.ts';

function principal(id: string, roles: Principal['roles'] = ['admin']): Principal {
  return { id, username: id, roles, groups: [] };
}

function storer(id: string, lends = true): Storer {
  return { id, username: id, lends };
}

interface World {
  readonly known?: readonly Principal[];
  readonly gone?: readonly string[];
  readonly storers?: Readonly<Record<string, readonly Storer[]>>;
  readonly joined?: Readonly<Record<string, readonly RunPerson[]>>;
}

function peopleIn({
  known = [principal('ada'), principal('eve'), principal('bob')],
  gone = [],
  storers = {},
  joined = {},
}: World) {
  return createRunPeople({
    store: { people: async (runs) => new Map(runs.flatMap((run) => (joined[run] === undefined ? [] : [[run, joined[run]]]))) },
    principalNow: async (id) => known.find((each) => each.id === id),
    isGone: (id) => gone.includes(id),
    storers: async (digests) => new Map(digests.flatMap((each) => (storers[each] === undefined ? [] : [[each, storers[each]]]))),
    digestOf: async () => 'own',
    whyNotSecrets: async () => undefined,
    whyNotCall: ({ roles }, functions) => (roles.includes('admin') ? undefined : functions[0]),
  });
}

const pin = (digest: string) => ({ id: 'lab.one', version: '1.0.0', digest, storers: [] });
const run = newRun({ id: 'r.1.1', workflowDigest: 'own', pins: [pin('top'), pin('own')], above: ['top'] });

test('a run is answered for by its authors and by who stored its version and those above, as they are now', async () => {
  const people = peopleIn({ storers: { own: [storer('eve'), storer('zoe', false)], top: [storer('bob')] } });
  const standing = await people.standing({ ...run, authors: [{ id: 'ada', username: 'ada' }] });
  assert.ok('answerable' in standing);
  assert.deepEqual(
    standing.answerable.map(({ id }) => id),
    ['ada', 'bob', 'eve'],
  );
});

test('a run is held where somebody who answers is gone, is not known, or is missing', async () => {
  const storers = { own: [storer('eve')], top: [storer('bob')] };
  const cases: readonly (readonly [world: World, given: Partial<typeof run>, detail: RegExp])[] = [
    [{ storers, known: [principal('ada'), principal('eve')] }, {}, /^bob answers/u],
    [{ storers: { own: [storer('eve')] } }, {}, /^Who stored the workflow is not known/u],
    [{ storers: { ...storers, own: [storer('eve', false)] } }, {}, /^Who stored the workflow is not known/u],
    [{ storers }, { authors: [] }, /^The automation has no author/u],
    [{ storers }, { authors: [{ id: 'lea', username: 'lea' }] }, /^lea answers/u],
  ];
  for (const [world, given, detail] of cases) {
    const standing = await peopleIn(world).standing({ ...run, ...given });
    assert.ok('by' in standing && standing.by === 'delegation-lost', detail.source);
    assert.match(standing.detail, detail);
  }
});

test('a run is held where its starter was removed or blocked, and not where the person was not seen for long', async () => {
  const world = { storers: { own: [storer('eve')], top: [storer('bob')] }, known: [principal('eve'), principal('bob')] };
  const standing = await peopleIn({ ...world, gone: [run.principal.id] }).standing(run);
  assert.ok('by' in standing && standing.by === 'person-gone');
  assert.ok('answerable' in (await peopleIn(world).standing(run)));
});

test('everybody involved is named once, with all that they did, in the run and in those above it', async () => {
  const people = peopleIn({
    storers: { own: [storer('eve')], top: [storer('bob')] },
    joined: {
      'r.1.1': [{ id: 'lea', username: 'lea', as: 'event' }],
      r: [
        { id: 'lea', username: 'lea', as: 'decision' },
        { id: 'leo', username: 'leo', as: 'event' },
      ],
    },
  });
  const involved = await people.involved(run);
  assert.deepEqual(
    involved.map(({ id, as }) => `${id}: ${as.join(' ')}`),
    ['ada: starter', 'bob: workflow parent', 'eve: workflow parent', 'lea: event decision parent', 'leo: event parent'],
  );
});

test('a run begins only where everybody who answers for a document may make its calls', async () => {
  const people = peopleIn({ known: [principal('eve', ['engineering']), principal('bob')] });
  const documents = (own: string, top: string) => [
    { pin: { ...pin('top'), storers: [storer(top)] }, functions: [], chain: new Set(['top']) },
    { pin: { ...pin('own'), storers: [storer(own)] }, functions: ['restCall'] as const, chain: new Set(['own', 'top']) },
  ];
  assert.equal(await people.whyLost(documents('bob', 'bob'), undefined), undefined);
  assert.match((await people.whyLost(documents('bob', 'eve'), undefined))?.detail ?? '', /^eve answers for lab\.one 1\.0\.0/u);
  assert.match((await people.whyLost(documents('eve', 'bob'), undefined))?.detail ?? '', /^eve answers/u);
  assert.match((await people.whyLost(documents('bob', 'bob'), [{ id: 'zoe', username: 'zoe' }]))?.detail ?? '', /^zoe answers/u);
});
