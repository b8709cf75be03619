import { createHash } from 'node:crypto';
import type { NamedPrincipal } from '#access/people.ts';
import type { Automation, LastSkip } from './automation.ts';

/**
 * Who answers for what an automation does. People run an automation who could not make its calls themselves. So each call of its
 * runs must be allowed to everyone who decided what it says, and none of them approves it.
 */
export interface AutomationPeople {
  /**
   * By author field; `input` has who removed members of the input, or gave none. A field without an entry has no known author. Fields of a newer
   * version are kept, and their authors count: the newer version finds by the digest whether an older one changed the value.
   */
  readonly fields: Readonly<Record<string, FieldPeople>>;
  /** Changed an author field last. */
  readonly owner?: NamedPrincipal | undefined;
  /** Changed the schedule last. */
  readonly scheduler?: NamedPrincipal | undefined;
  /** Ended the last pause. */
  readonly resumer?: NamedPrincipal | undefined;
  /** Set while people have paused the schedule. `isWriter`: may write the workflow, so only such a person ends the pause. */
  readonly pausedBy?: (NamedPrincipal & { readonly isWriter: boolean }) | undefined;
  /**
   * It named a workflow that did not exist, and no writer of the workflow has changed or taken it since. A person without that
   * right must not become the delegate of a workflow that appears later.
   */
  readonly isUnconfirmed?: boolean | undefined;
}

interface FieldPeople {
  /** Their rights count at each call. */
  readonly authors: readonly NamedPrincipal[];
  /** Another person took the value over: they lend no rights, and still approve nothing. */
  readonly former: readonly NamedPrincipal[];
  /** SHA-256 of the value that they decided, base64url. Absent: a gateway of before 0.2 wrote the field, or it is `input`. */
  readonly digest?: string | undefined;
}

/** Such an automation does not run until a person takes it. */
export const noPeople: AutomationPeople = { fields: {} };

interface PeopleWrite {
  readonly people: AutomationPeople;
  /** Undefined: the automation is created. */
  readonly current: Automation | undefined;
  readonly next: Automation;
  readonly by: NamedPrincipal;
}

/** A value that is equal to the stored one keeps its people. */
export function peopleAfterWrite(write: PeopleWrite): AutomationPeople {
  const { people, current, next } = write;
  const by = named(write.by);
  const { fields, isChanged } = fieldsAfterWrite({ ...write, by });
  const { owner, scheduler } = people;
  const reschedules = scheduleText(current) !== scheduleText(next) || (isChanged && isScheduled(next));
  return {
    ...people,
    fields,
    owner: isChanged ? by : owner,
    scheduler: reschedules ? by : scheduler,
    pausedBy: pauserAfterWrite({ people, current, next, by }),
  };
}

/** A pause lasts until there is a next time. Who changes a schedule may write the workflow. */
function pauserAfterWrite({ people, current, next, by }: PeopleWrite): AutomationPeople['pausedBy'] {
  if (next.nextRunAt !== undefined) return undefined;
  return current?.nextRunAt === undefined ? people.pausedBy : { ...by, isWriter: true };
}

function fieldsAfterWrite({ people, current, next, by }: PeopleWrite): Pick<AutomationPeople, 'fields'> & {
  readonly isChanged: boolean;
} {
  const before: ReadonlyMap<string, string> = current === undefined ? new Map() : authorFields(current);
  const after = authorFields(next);
  const changed = [...after].filter(([field, text]) => before.get(field) !== text).map(([field]) => field);
  const kept = Object.entries(people.fields).filter(
    ([field]) => isUnknown(field) || (after.has(field) && !changed.includes(field)),
  );
  const hasRemoved = [...before.keys()].some((field) => !after.has(field));
  const removers = removersAfter(people, { current, next, by, hasRemoved });
  return {
    fields: {
      ...Object.fromEntries(kept),
      ...Object.fromEntries(changed.map((field) => [field, { authors: [by], former: [], digest: digestOf(after.get(field)) }])),
      ...(removers !== undefined && { [inputField]: removers }),
    },
    isChanged: changed.length > 0 || hasRemoved,
  };
}

interface Steering {
  readonly by: NamedPrincipal;
  /** May write the workflow. */
  readonly isWriter: boolean;
}

/** The pause of a writer stays one when another person pauses again. */
export function peopleAfterPause(people: AutomationPeople, { by, isWriter }: Steering): AutomationPeople {
  if (people.pausedBy !== undefined && (people.pausedBy.isWriter || !isWriter)) return people;
  return { ...people, pausedBy: { ...named(by), isWriter } };
}

export function peopleAfterResume({ pausedBy: _pausedBy, ...people }: AutomationPeople, by: NamedPrincipal): AutomationPeople {
  return { ...people, resumer: named(by) };
}

/**
 * Only these people wrote the automation, the last of them first. Who wrote which value is not known, so each answers for all of
 * them. With several writers, no scheduler is known.
 */
export function peopleOfWriters(automation: Automation, writers: readonly NamedPrincipal[]): AutomationPeople {
  const [last, ...others] = writers;
  if (last === undefined) return noPeople;
  const { fields, owner, scheduler } = peopleAfterWrite({ people: noPeople, current: undefined, next: automation, by: last });
  const all = Object.entries(fields).map(([field, by]): [string, FieldPeople] => [field, { ...by, authors: writers }]);
  return { fields: Object.fromEntries(all), owner, ...(others.length === 0 && { scheduler }) };
}

/** True if no person who may do so answers for it: it is not due at any time. */
export function isHeld(people: AutomationPeople, automation: Automation): boolean {
  return people.isUnconfirmed === true || authorsOf(people, automation) === undefined;
}

/** Changes of author fields and of the schedule, by their names in the document. */
export function decidingChanges(current: Automation | undefined, next: Automation): readonly string[] {
  const before = authorFields(current ?? { _id: '', name: '' });
  const after = authorFields(next);
  const names = [...new Set([...before.keys(), ...after.keys()])];
  const fields = names.filter((name) => before.get(name) !== after.get(name)).map((name) => `data.${name.split('/')[0]}`);
  const isScheduled = scheduleText(current) !== scheduleText(next);
  return [...new Set([...fields, ...(isScheduled ? ['the schedule'] : [])])];
}

/** A write that changes what runs or when drops the skip, since its reason may be gone too. */
export function keptSkip(current: Automation | undefined, next: Automation): LastSkip | undefined {
  return current?.lastSkip !== undefined && decidingChanges(current, next).length === 0 ? current.lastSkip : undefined;
}

/** The taker is the author of every field, and the scheduler. */
export function peopleAfterTake(
  people: AutomationPeople,
  { automation, by }: { readonly automation: Automation; readonly by: NamedPrincipal },
): AutomationPeople {
  const taker = named(by);
  const values = authorFields(automation);
  const take = (field: string): [string, FieldPeople] => {
    const { authors = [], former = [], ...kept } = people.fields[field] ?? {};
    const digest = values.has(field) ? { digest: digestOf(values.get(field)) } : {};
    const earlier = distinct([...former, ...authors]).filter(({ id }) => id !== taker.id);
    return [field, { ...kept, ...digest, authors: [taker], former: earlier }];
  };
  const others = Object.keys(people.fields).filter((field) => field === inputField || isUnknown(field));
  const names = [...values.keys(), ...others];
  return { ...people, fields: Object.fromEntries(names.map(take)), owner: taker, scheduler: taker };
}

/** Whose rights count, each once; undefined if the people of a field are not known, or decided another value. */
export function authorsOf(people: AutomationPeople, automation: Automation): readonly NamedPrincipal[] | undefined {
  const lists = [...authorFields(automation)].map(([name, value]) => {
    const { authors, digest } = people.fields[name] ?? {};
    return digest === undefined || digest === digestOf(value) ? authors : undefined;
  });
  const others = Object.entries(people.fields).filter(([name]) => name === inputField || isUnknown(name));
  const more = others.flatMap(([, { authors }]) => authors);
  return lists.every((list) => list !== undefined) ? distinct([...lists.flat(), ...more]) : undefined;
}

function digestOf(value: string | undefined): string {
  return createHash('sha256')
    .update(value ?? '')
    .digest('base64url');
}

const inputField = 'input';

const known: ReadonlySet<string> = new Set(authorFields({ _id: '', name: '' }).keys());

/** A field that only a newer version knows. */
function isUnknown(field: string): boolean {
  return field.split('/', 1)[0] !== inputField && !known.has(field);
}

/** Values as text. An absent list is an empty one. A removed member of the input has no field. */
function authorFields({ data = {} }: Automation): ReadonlyMap<string, string> {
  const { workflowId, workflowVersion, formId, gbac = {}, input = {} } = data;
  const members = Object.entries(input).map(([name, value]): [string, unknown] => [`${inputField}/${name}`, value]);
  const values: readonly [string, unknown][] = [
    ['workflowId', workflowId],
    ['workflowVersion', workflowVersion],
    ['formId', formId],
    ['gbac/read', gbac.read ?? []],
    ['gbac/write', gbac.write ?? []],
    ...members,
  ];
  return new Map(values.map(([field, value]) => [field, JSON.stringify(value ?? null)]));
}

/**
 * Who removed members of the input: what is missing decides what a run does, too. An input without members is one that was
 * emptied.
 */
function removersAfter(
  { fields }: AutomationPeople,
  { current, next, by, hasRemoved }: Omit<PeopleWrite, 'people'> & { readonly hasRemoved: boolean },
): FieldPeople | undefined {
  const kept = fields[inputField];
  const [before, after] = [hasMembers(current), hasMembers(next)];
  if (after && !before) return undefined;
  if (!hasRemoved && (current !== undefined || after)) return kept;
  const { authors = [], former = [] } = kept ?? {};
  return { authors: distinct([...authors, by]), former: former.filter(({ id }) => id !== by.id) };
}

function hasMembers(automation: Automation | undefined): boolean {
  return Object.keys(automation?.data?.input ?? {}).length > 0;
}

function scheduleText(automation: Automation | undefined): string {
  const { nextRunAt, repeatInterval, data = {} } = automation ?? {};
  return JSON.stringify([nextRunAt, repeatInterval, data.cron, data.timeZone, data.scheduleFrom]);
}

/** True also of a paused schedule. */
export function isScheduled({ nextRunAt, repeatInterval, data = {} }: Automation): boolean {
  return nextRunAt !== undefined || repeatInterval !== undefined || data.cron !== undefined;
}

function named({ id, username }: NamedPrincipal): NamedPrincipal {
  return { id, username };
}

function distinct(people: readonly NamedPrincipal[]): readonly NamedPrincipal[] {
  return [...new Map(people.map((person) => [person.id, person])).values()];
}

export interface PeopleOfRun {
  /** Empty: not known, or they have not confirmed the workflow; no run begins. */
  readonly authors: readonly NamedPrincipal[];
  readonly owner?: NamedPrincipal | undefined;
  /** Of values that another person has taken over since. */
  readonly earlierAuthors: readonly NamedPrincipal[];
  readonly scheduler: NamedPrincipal | undefined;
  readonly resumer: NamedPrincipal | undefined;
  readonly formWriter: NamedPrincipal | undefined;
}

export function peopleOfRun(
  people: AutomationPeople,
  { automation, formWriter }: { readonly automation: Automation; readonly formWriter: NamedPrincipal | undefined },
): PeopleOfRun {
  const earlierAuthors = distinct(Object.values(people.fields).flatMap(({ former }) => former));
  const { owner, scheduler, resumer } = people;
  const authors = isHeld(people, automation) ? [] : (authorsOf(people, automation) ?? []);
  return { authors, owner, earlierAuthors, scheduler, resumer, formWriter };
}
