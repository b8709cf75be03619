// suite: long

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import fc from 'fast-check';
import { everyone } from './support/involved/hand-model.ts';
import { History, type Tally } from './support/involved/history.ts';
import { type Command, shapes } from './support/involved/history-commands.ts';
import { gates, type HistoryStage, historyStage } from './support/involved/history-stage.ts';
import { suiteOwner } from './support/owner.ts';
import { eachStore } from './support/stores/stores.ts';

// Random histories of people who write, schedule, run, decide and approve, compared with a model of the contract: no involved person grants.

const numRuns = Number(process.env['HISTORIES'] ?? 4);

/** What people try, how often it comes up, and whether it is for those who may write workflows; others try it now and then. */
const attempts = {
  store: [2, 'writers'],
  create: [1, 'writers'],
  edit: [3, 'writers'],
  schedule: [3, 'writers'],
  pause: [2, 'writers'],
  form: [1, 'writers'],
  import: [1, 'writers'],
  take: [2, 'writers'],
  start: [5, 'writers'],
  event: [2, 'writers'],
  decide: [2, 'writers'],
  rerun: [3, 'writers'],
  cancel: [1, 'writers'],
  grant: [5, 'all'],
  reject: [1, 'all'],
} as const satisfies Readonly<Record<Command['kind'], readonly [number, 'writers' | 'all']>>;

const writers = ['ada', 'bob', 'eve', 'ian'] as const;
const command = fc.oneof(
  ...Object.entries(attempts).map(([kind, [weight, by]]) => ({
    weight,
    arbitrary: fc.record<Command>({
      kind: fc.constant(kind as Command['kind']),
      who: fc.constantFrom(...(by === 'all' ? [] : [...writers, ...writers, ...writers]), ...everyone),
      nth: fc.nat({ max: 11 }),
      shape: fc.constantFrom(...shapes),
      gate: fc.constantFrom(...gates),
    }),
  })),
);

/** A document that relays an event, and one that takes what it sends. */
const relayed = [
  as('bob', 'store', { shape: 'late' }),
  as('ada', 'form'),
  as('ada', 'create', { nth: 1 }),
  as('ada', 'start'),
  as('ada', 'store', { shape: 'relay' }),
  as('ada', 'start'),
  as('ian', 'event'),
];

/** People who join a run while others approve its call. */
const joined = [
  as('eve', 'store', { shape: 'side', gate: { self: 'authors', count: 2 } }),
  as('ian', 'form'),
  as('bob', 'create'),
  as('lea', 'start'),
  as('bob', 'grant'),
  as('bob', 'event'),
  as('kim', 'grant'),
  as('ian', 'take', { nth: 1 }),
  as('ian', 'grant'),
];

/** A scheduled run with a child, which is repeated by hand. */
const repeated = [
  as('eve', 'store', { shape: 'ask', nth: 1, gate: { self: 'authors', count: 1 } }),
  as('ian', 'store', { shape: 'child', gate: { self: 'authors', count: 1 } }),
  as('bob', 'form'),
  as('ada', 'create'),
  as('ian', 'pause'),
  as('bob', 'import'),
  as('ian', 'schedule'),
  as('eve', 'grant'),
  as('kim', 'grant'),
  as('lea', 'rerun'),
];

function as(by: Command['who'], what: Command['kind'], more: Partial<Command> = {}): Command {
  return { kind: what, who: by, nth: 0, shape: 'act', gate: { self: false, count: 1 }, ...more };
}

/** What most commands need first. */
const beginning = fc.tuple(command, command, command, command).map(([child, root, form, automation]): readonly Command[] => [
  { ...child, kind: 'store', nth: 1, shape: child.shape === 'child' ? 'act' : child.shape, who: writer(child.who) },
  { ...root, kind: 'store', nth: 3, who: writer(root.who) },
  { ...form, kind: 'form', who: writer(form.who) },
  { ...automation, kind: 'create', who: writer(automation.who) },
]);

function writer(given: Command['who']): Command['who'] {
  return writers.find((each) => each === given) ?? 'eve';
}

eachStore((store) => {
  const owner = suiteOwner();
  let stage: HistoryStage;
  before(async () => {
    stage = await historyStage(owner, store);
  });

  test('no history of edits, imports, runs, events, decisions and repetitions lets a person involved in a call grant it', async () => {
    const tally: Tally = new Map();
    let count = 0;
    await fc.assert(
      fc.asyncProperty(beginning, fc.array(command, { minLength: 10, maxLength: 18 }), async (first, commands) => {
        count += 1;
        await new History(stage, `h${count}`, tally).play([...first, ...commands]);
      }),
      {
        numRuns,
        examples: [relayed, joined, repeated].map((commands): [readonly Command[], Command[]] => [commands, []]),
        // A shorter history would take seconds to find; fast-check prints the seed and the history.
        endOnFailure: true,
      },
    );
    for (const what of ['left', 'grant: involved', 'grant: caller']) assert.ok((tally.get(what) ?? 0) > 0, what);
  });
});
