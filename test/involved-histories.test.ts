import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { everyone } from './support/involved/hand-model.ts';
import { type Command, History, shapes, type Tally } from './support/involved/history.ts';
import { gates, type HistoryStage, historyStage } from './support/involved/history-stage.ts';
import { eachStore } from './support/stores/stores.ts';

// Random histories of people who write, schedule, run, decide and approve, compared with a model of the contract: nobody involved grants.

const numRuns = Number(process.env['HISTORIES'] ?? 4);

/** Those who may write workflows and automations come up more often. */
const who = fc.constantFrom('ada', 'bob', 'eve', 'ian', ...everyone);
const kind = fc.constantFrom<Command['kind']>(
  'store',
  'store',
  'create',
  'edit',
  'edit',
  'schedule',
  'schedule',
  'pause',
  'form',
  'import',
  'take',
  'take',
  'start',
  'start',
  'start',
  'event',
  'decide',
  'rerun',
  'rerun',
  'cancel',
  'grant',
  'grant',
  'grant',
  'reject',
);
const command = fc.record<Command>({
  kind,
  who,
  nth: fc.nat({ max: 11 }),
  shape: fc.constantFrom(...shapes),
  gate: fc.constantFrom(...gates),
});

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
  return ['ada', 'bob', 'eve', 'ian'].includes(given) ? given : 'eve';
}

eachStore((store) => {
  const closers: (() => unknown)[] = [];
  let stage: HistoryStage;
  before(async () => {
    stage = await historyStage({ after: (close) => void closers.unshift(close) }, store);
  });
  after(async () => {
    for (const close of closers) await close();
  });

  test('no history of edits, imports, runs, events, decisions and repetitions lets a person involved in a call grant it', async () => {
    const tally: Tally = new Map();
    let count = 0;
    await fc.assert(
      fc.asyncProperty(beginning, fc.array(command, { minLength: 8, maxLength: 14 }), async (first, commands) => {
        count += 1;
        await new History(stage, `h${count}`, tally).play([...first, ...commands]);
      }),
      {
        numRuns,
        examples: [[relayed, []]],
        endOnFailure: true,
        ...(process.env['REPLAY'] !== undefined && JSON.parse(process.env['REPLAY'])),
      },
    );
    console.log(tally);
    for (const what of ['left', 'grant: involved', 'grant: caller']) assert.ok((tally.get(what) ?? 0) > 0, what);
  });
});
