import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { NamedPrincipal } from '#access/people.ts';
import type { Automation } from './automation.ts';
import { authorsOf, noPeople, peopleAfterTake, peopleAfterWrite, peopleOfRun } from './automation-people.ts';

const [ann, bob, cid] = ['ann', 'bob', 'cid'].map((name) => ({ id: `id of ${name}`, username: name })) as [
  NamedPrincipal,
  NamedPrincipal,
  NamedPrincipal,
];

const reboot: Automation = {
  _id: 'a1',
  name: 'Reboot',
  data: { workflowId: 'noc.reboot', input: { device: 'lab-1', force: false }, gbac: { write: ['noc'] } },
};

const created = peopleAfterWrite({ people: noPeople, current: undefined, next: reboot, by: ann });

function changed(by: NamedPrincipal, data: object, rest: object = {}): { next: Automation; people: typeof created } {
  const next = { ...reboot, ...rest, data: { ...reboot.data, ...data } };
  return { next, people: peopleAfterWrite({ people: created, current: reboot, next, by }) };
}

/** Who wrote what is in force, or answers for it. */
function handsIn(people: typeof created, automation: Automation): readonly NamedPrincipal[] {
  const { authors, earlierAuthors } = peopleOfRun(people, { automation, formWriter: undefined });
  return [...authors, ...earlierAuthors];
}

function names(people: readonly NamedPrincipal[] | undefined): readonly string[] | undefined {
  return people?.map(({ username }) => username).toSorted();
}

test('the creator of an automation is its author and owner, and the scheduler of a schedule', () => {
  assert.deepEqual(names(authorsOf(created, reboot)), ['ann']);
  assert.equal(created.owner?.username, 'ann');
  const cron = { ...reboot, data: { ...reboot.data, cron: '0 2 * * *' } };
  const scheduled = peopleAfterWrite({ people: noPeople, current: undefined, next: cron, by: ann });
  assert.equal(scheduled.scheduler?.username, 'ann');
});

for (const [what, data] of [
  ['the workflow', { workflowId: 'noc.other' }],
  ['the pinned version', { workflowVersion: '1.0.0' }],
  ['the form', { formId: 'devices' }],
  ['a list of groups', { gbac: { write: ['noc'], read: ['noc'] } }],
  ['a member of the input', { input: { device: 'core-1', force: false } }],
  ['the input, by removing a member', { input: { device: 'lab-1' } }],
] as const)
  test(`a person that changes ${what} becomes an author next to the earlier ones, and the owner`, () => {
    const { next, people } = changed(bob, data);
    assert.deepEqual(names(authorsOf(people, next)), ['ann', 'bob']);
    assert.equal(people.owner?.username, 'bob');
    assert.equal(people.scheduler, created.scheduler, 'it has no schedule');
  });

test('a change of the name, of the description or to an equal value makes no author', () => {
  const { next, people } = changed(bob, { description: 'new', gbac: { write: ['noc'], read: [] } }, { name: 'Other' });
  assert.deepEqual(names(authorsOf(people, next)), ['ann']);
  assert.equal(people.owner?.username, 'ann');
});

test('a person that changes an author field of a scheduled automation becomes its scheduler', () => {
  const scheduled = changed(ann, {}, { repeatInterval: '1 day', nextRunAt: '2026-03-01T00:00:00.000Z' });
  assert.equal(scheduled.people.scheduler?.username, 'ann');
  const next = { ...scheduled.next, data: { ...scheduled.next.data, formId: 'devices' } };
  const { scheduler, owner } = peopleAfterWrite({ people: scheduled.people, current: scheduled.next, next, by: bob });
  assert.deepEqual([scheduler?.username, owner?.username], ['bob', 'bob']);
});

test('a person that changes the schedule alone becomes its scheduler, and no author', () => {
  const { next, people } = changed(bob, {}, { repeatInterval: '1 day', nextRunAt: '2026-03-01T00:00:00.000Z' });
  assert.equal(people.scheduler?.username, 'bob');
  assert.deepEqual(names(authorsOf(people, next)), ['ann']);
  assert.deepEqual(names(handsIn(people, next)), ['ann'], 'the scheduler is no author');
});

test('a person that takes an automation lends the rights alone, and those before stay involved until the values change', () => {
  const { next, people } = changed(bob, { input: { device: 'core-1', force: false } });
  const taken = peopleAfterTake(people, { automation: next, by: cid });
  assert.deepEqual(names(authorsOf(taken, next)), ['cid']);
  assert.deepEqual(names(handsIn(taken, next)), ['ann', 'bob', 'cid']);
  assert.deepEqual([taken.owner?.username, taken.scheduler?.username], ['cid', 'cid']);
  const again = { ...next, data: { ...next.data, input: { device: 'lab-2', force: false } } };
  const later = peopleAfterWrite({ people: taken, current: next, next: again, by: cid });
  assert.deepEqual(names(handsIn(later, again)), ['ann', 'cid'], 'the value of bob is gone');
});

test('an automation of an earlier store has no authors, until a person takes it', () => {
  assert.equal(authorsOf(noPeople, reboot), undefined);
  const next = { ...reboot, data: { ...reboot.data, formId: 'devices' } };
  const written = peopleAfterWrite({ people: noPeople, current: reboot, next, by: bob });
  assert.equal(authorsOf(written, next), undefined, 'a write of one field says nothing about the others');
  assert.deepEqual(names(authorsOf(peopleAfterTake(written, { automation: next, by: cid }), next)), ['cid']);
});

test('the writer of a value in force is always involved, after any history of writes and takes', () => {
  const value = fc.constantFrom(undefined, 'x', 'y');
  const data = fc.record({ workflowId: value, workflowVersion: value, formId: value, dry: value, device: value });
  const steps = fc.array(fc.record({ by: fc.constantFrom(ann, bob, cid), data, takes: fc.boolean() }), { maxLength: 12 });
  fc.assert(
    fc.property(steps, (history) => {
      let [people, current] = [noPeople, undefined as Automation | undefined];
      const writers = new Map<string, string>();
      for (const { by, data: given, takes } of history) {
        const { dry, device, ...rest } = given;
        const input = Object.fromEntries(Object.entries({ dry, device }).filter(([, member]) => member !== undefined));
        const next =
          takes && current !== undefined
            ? current
            : { _id: 'a', name: 'A', data: JSON.parse(JSON.stringify({ ...rest, input })) };
        for (const [field, one] of Object.entries(given))
          if (next !== current && one !== undefined && one !== valueOf(current, field)) writers.set(field, by.id);
        if (next === current) people = peopleAfterTake(people, { automation: next, by });
        else people = peopleAfterWrite({ people, current, next, by });
        current = next;
        const ids = handsIn(people, next).map(({ id }) => id);
        for (const [field, writer] of writers)
          if (valueOf(current, field) !== undefined) assert.ok(ids.includes(writer), `${field} of ${writer}`);
        assert.ok(
          authorsOf(people, next)?.some(({ id }) => ids.includes(id)),
          'a created automation has authors',
        );
      }
    }),
  );
});

function valueOf(automation: Automation | undefined, field: string): unknown {
  const { input = {}, ...data } = automation?.data ?? {};
  return { ...data, ...input }[field as 'workflowId'];
}
