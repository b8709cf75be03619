import { type InvolvedPrincipal, type Involvement, involvements, type NamedPrincipal } from '#access/people.ts';
import type { PeopleOfRun } from '#automations/automation-people.ts';
import type { WorkflowPin } from '#workflows/workflow-pins.ts';
import type { NewRun } from './run-records.ts';
import { starterOf } from './run-row.ts';

/** What is known of a run when it begins. */
interface BeginningRun extends Pick<NewRun, 'principal' | 'startedBy'> {
  readonly people: PeopleOfRun;
  readonly pins: readonly WorkflowPin[];
  /** Of a repetition: who was involved in the run before. */
  readonly repeated: readonly InvolvedPrincipal[];
}

/** Who has a hand in an outermost run from its beginning on. */
export function involvedAtStart({ principal, startedBy, people, pins, repeated }: BeginningRun): readonly InvolvedPrincipal[] {
  const { authors, earlierAuthors, resumer, formWriter } = people;
  return merged([
    ...starterOf(principal, startedBy),
    ...as('resumer', 'due' in startedBy ? [resumer] : []),
    ...as('author', [...authors, ...earlierAuthors]),
    ...as(
      'workflow',
      pins.flatMap(({ storers }) => storers),
    ),
    ...as('form', [formWriter]),
    ...through('repeated', repeated),
  ]);
}

/** All of them in one list, in which each principal has everything that it did. */
export function merged(people: readonly InvolvedPrincipal[]): readonly InvolvedPrincipal[] {
  const byId = Map.groupBy(people, ({ id }) => id);
  return [...byId.values()].flatMap((entries) => {
    const [first] = entries;
    if (first === undefined) return [];
    const did = new Set(entries.flatMap((entry) => entry.as));
    return [{ id: first.id, username: first.username, as: involvements.filter((each) => did.has(each)) }];
  });
}

/** The people of another run with what they did there, since `selfApproval: authors` tells authors from those who began it. */
export function through(run: 'parent' | 'repeated', people: readonly InvolvedPrincipal[]): readonly InvolvedPrincipal[] {
  return people.map((person) => ({ ...person, as: [...person.as, run] }));
}

export function as(involvement: Involvement, people: readonly (NamedPrincipal | undefined)[]): readonly InvolvedPrincipal[] {
  return people.flatMap((person) =>
    person === undefined ? [] : [{ id: person.id, username: person.username, as: [involvement] }],
  );
}
