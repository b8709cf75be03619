import { everyVersion } from '#database/row-version.ts';
import type { Tables } from '#database/tables/tables.ts';
import { parseExact } from '#json/parse-json.ts';
import { type Automation, type AutomationData, type LastSkip, type TextField, textFields, textOf } from '../automation.ts';
import { type AutomationPeople, noPeople } from '../automation-people.ts';
import { exactKey, sortKey } from './sort-key.ts';

/** For sorting and searching. */
export const keyColumns = {
  _id: 'id_key',
  name: 'name_key',
  lastModifiedBy: 'last_modified_by_key',
  lastRunAt: 'last_run_at_key',
  nextRunAt: 'next_run_at_key',
  repeatInterval: 'repeat_interval_key',
  'data.description': 'description_start',
  'data.workflowId': 'workflow_id_key',
  'data.formId': 'form_id_key',
  'data.lastUpdated': 'last_updated_key',
} as const satisfies Record<TextField, keyof Tables['automation']>;

/** Bytes of a description's key in its index. */
const descriptionStart = 512;

/** `givenNext`: the `nextRunAt` that an owner wrote last, if it is another. */
export function rowOf(
  automation: Automation,
  { number, isRestricted, isHeld, givenNext = automation.nextRunAt }: RowFacts,
): Tables['automation'] {
  const keys = Object.fromEntries(
    textFields.map((field) => {
      const text = textOf(automation, field);
      return [keyColumns[field], text === undefined ? null : sortKey(text)] as const;
    }),
  ) as unknown as Pick<Tables['automation'], (typeof keyColumns)[TextField]>;
  const description = keys.description_start;
  const isCut = description !== null && description.length > descriptionStart;
  return {
    ...keys,
    number,
    id: exactKey(automation._id),
    name: exactKey(automation.name),
    restricted: Number(isRestricted),
    held: Number(isHeld),
    next_run_given_key: keyOfTime(givenNext),
    schedule_from: automation.data?.scheduleFrom ?? null,
    last_skip: skipText(automation.lastSkip),
    description_start: isCut ? description.slice(0, descriptionStart) : description,
    description_key: isCut ? description : null,
    lowest: everyVersion,
  };
}

interface RowFacts {
  readonly number: number;
  readonly isRestricted: boolean;
  readonly isHeld: boolean;
  readonly givenNext?: string | undefined;
}

/** A member that has a column of its own is not in `document`. */
export const documentColumns = [
  'document',
  'people',
  'last_run_at_key',
  'next_run_at_key',
  'schedule_from',
  'last_skip',
] as const;

type DocumentRow = Pick<Tables['automation'] & Tables['automation_text'], (typeof documentColumns)[number]>;

export function automationOf({
  document,
  people,
  last_run_at_key: last,
  next_run_at_key: next,
  schedule_from: scheduleFrom,
  last_skip: skip,
}: DocumentRow): Automation {
  const owned = withUnknown(parseDocument(document));
  const automation = {
    ...owned,
    ...(scheduleFrom !== null && { data: { ...owned.data, scheduleFrom } }),
    ...(last !== null && { lastRunAt: timeOf(last) }),
    ...(next !== null && { nextRunAt: timeOf(next) }),
    ...(skip !== null && { lastSkip: JSON.parse(skip) as LastSkip }),
  };
  return withNames(automation, storedPeople(people));
}

export function skipText(skip: LastSkip | undefined): string | null {
  return skip === undefined ? null : JSON.stringify(skip);
}

export function storedPeople(text: string | null): AutomationPeople {
  return text === null ? noPeople : (JSON.parse(text) as AutomationPeople);
}

/** With the names of these people and no others. */
export function withNames(automation: Automation, { owner, scheduler }: AutomationPeople): Automation {
  const { owner: _owner, scheduledBy: _scheduledBy, ...data }: AutomationData = automation.data ?? {};
  const names = { ...(owner && { owner: owner.username }), ...(scheduler && { scheduledBy: scheduler.username }) };
  if (automation.data === undefined && owner === undefined && scheduler === undefined) return automation;
  return { ...automation, data: { ...data, ...names } };
}

/** Numbers of `data.input` keep their digits. */
export function parseDocument(text: string): Automation {
  return (text.includes('"input":') ? parseExact(text) : JSON.parse(text)) as Automation;
}

/** The fields in one order, no white space: the same document gives the same text. */
export function documentText(automation: Automation): string {
  return textWith(automation, undefined);
}

/** Unknown members come last, as the newer version has to write them: so both versions compute the same text. */
function textWith(automation: Automation, unknown: Automation['unknown']): string {
  const members = membersInOrder(automation);
  const data = members.data && { ...members.data, ...unknown?.data };
  return JSON.stringify({ ...members, data, ...unknown?.document });
}

function membersInOrder({ _id, name, data, lastModifiedBy, lastRunAt, nextRunAt, repeatInterval, lastSkip }: Automation) {
  const members = { _id, name, data: data && dataInOrder(data), lastModifiedBy, lastRunAt, nextRunAt, repeatInterval, lastSkip };
  return members satisfies Record<Exclude<keyof Automation, 'unknown'>, unknown>;
}

function dataInOrder(data: AutomationData): object {
  const { gbac, lastUpdated, description, workflowId, workflowVersion, formId, timeZone, cron, scheduleFrom, input } = data;
  const { owner, scheduledBy } = data;
  return {
    scheduleFrom,
    gbac: gbac && { write: gbac.write, read: gbac.read },
    lastUpdated,
    owner,
    scheduledBy,
    description,
    workflowId,
    workflowVersion,
    formId,
    timeZone,
    cron,
    input,
  } satisfies Record<keyof AutomationData, unknown>;
}

const known = {
  document: new Set(Object.keys(membersInOrder({ _id: '', name: '' }))),
  data: new Set(Object.keys(dataInOrder({}))),
};

/** Sets apart the members that this version does not know. */
function withUnknown(stored: Automation): Automation {
  const others = (members: object, names: ReadonlySet<string>) =>
    Object.entries(members).filter(([member]) => !names.has(member));
  const [document, data] = [others(stored, known.document), others(stored.data ?? {}, known.data)];
  if (document.length === 0 && data.length === 0) return stored;
  const dropped = Object.fromEntries(data.map(([member]) => [member, undefined]));
  const unknown = { document: Object.fromEntries(document), data: Object.fromEntries(data) };
  return { ...stored, ...(stored.data && { data: { ...stored.data, ...dropped } }), unknown };
}

/** For `automation_text`: without the members that have columns of their own. */
export function ownedText(automation: Automation): string {
  return textWith(owned(automation), automation.unknown);
}

/** What the ETag covers: what people wrote, without the names of the people. */
export function taggedText(automation: Automation): string {
  const { data, lastModifiedBy: _by, ...rest } = owned(automation);
  const isEmpty = Object.values({ ...data, ...automation.unknown?.data }).every((value) => value === undefined);
  return textWith({ ...rest, ...(!isEmpty && { data: data ?? {} }) }, automation.unknown);
}

function owned({ lastRunAt: _last, nextRunAt: _next, lastSkip: _skip, data, ...rest }: Automation): Automation {
  if (data === undefined) return rest;
  const { scheduleFrom: _from, owner: _owner, scheduledBy: _scheduledBy, ...kept } = data;
  return { ...rest, data: kept };
}

/** Written by the schedule and by the owner. The ETag does not cover them. */
export const runFields = ['lastRunAt', 'nextRunAt'] as const;

type RunFacts = Pick<Automation, (typeof runFields)[number]>;

/** The key has the timestamp in lower case. */
export function timeOf(key: Uint8Array): string {
  return Buffer.from(key).toString('latin1').toUpperCase();
}

export function keyOfTime(time: string | null | undefined): Uint8Array | null {
  return time === null || time === undefined ? null : sortKey(time);
}

export function withFactsOf({ lastRunAt: _last, nextRunAt: _next, ...owned }: Automation, facts: RunFacts): Automation {
  const { lastRunAt, nextRunAt } = facts;
  return { ...owned, ...(lastRunAt !== undefined && { lastRunAt }), ...(nextRunAt !== undefined && { nextRunAt }) };
}
