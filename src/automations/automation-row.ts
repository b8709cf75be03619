import type { Tables } from '#database/tables.ts';
import { parseExact } from '#json/exact-json.ts';
import { type Automation, type AutomationData, type TextField, textFields, textOf } from './automation.ts';
import { type OwnerFacts, type RunField, withRunFacts } from './run-facts.ts';
import { exactKey, sortKey } from './sort-key.ts';

/** The column that each field is sorted and searched by. */
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

/** Bytes of a description's key that are in its index. */
const descriptionStart = 512;

/** One row without its audience and its revisions. */
export function rowOf(
  automation: Automation,
): Omit<Tables['automation'], 'audience' | 'last_run_revision' | 'next_run_revision'> {
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
    id: exactKey(automation._id),
    name: exactKey(automation.name),
    description_start: isCut ? description.slice(0, descriptionStart) : description,
    description_key: isCut ? description : null,
    document: ownedText(automation),
  };
}

/**
 * The JSON text of an automation without its run facts: the fields in the order of the specification, no white space. The same document
 * gives the same text.
 */
export function ownedText({ _id, name, data, lastModifiedBy, repeatInterval }: Omit<Automation, RunField>): string {
  return JSON.stringify({
    _id,
    name,
    data: data && ownedData(data),
    lastModifiedBy,
    repeatInterval,
  } satisfies Record<keyof Omit<Automation, RunField>, unknown>);
}

function ownedData(data: AutomationData): object {
  const { gbac, lastUpdated, description, workflowId, workflowVersion, formId, timeZone, cron, scheduleFrom, input } = data;
  return {
    scheduleFrom,
    gbac: gbac && { write: gbac.write, read: gbac.read },
    lastUpdated,
    description,
    workflowId,
    workflowVersion,
    formId,
    timeZone,
    cron,
    input,
  } satisfies Record<keyof AutomationData, unknown>;
}

const dataStart = ',"data":{';
const anchorStart = `${dataStart}"scheduleFrom":"`;

/** What the ETag of a document covers: its text as `ownedText` writes it, without `data.scheduleFrom`, and without `data` that is empty then. */
export function taggedText(document: string): string {
  // JSON escapes the quotation marks of the texts before, so that the first place with these characters is the member itself.
  const start = document.indexOf(dataStart);
  if (start === -1) return document;
  const inData = start + dataStart.length;
  let rest = inData;
  if (document.startsWith(anchorStart, start)) {
    const end = document.indexOf('"', start + anchorStart.length) + 1;
    rest = document[end] === ',' ? end + 1 : end;
  }
  return document[rest] === '}'
    ? document.slice(0, start) + document.slice(rest + 1)
    : document.slice(0, inData) + document.slice(rest);
}

/** A document from its JSON text; numbers of `data.input` keep their digits. */
export function automationOf(text: string): Automation {
  return (text.includes('"input":') ? parseExact(text) : JSON.parse(text)) as Automation;
}

/** The whole automation as JSON text, as it is listed. */
export function documentText(automation: Automation): string {
  return withRunFacts(ownedText(automation), automation);
}

/** What a row of `automation` has of the run facts. */
export const ownerFactColumns = [
  'last_run_at_key',
  'next_run_at_key',
  'last_run_revision',
  'next_run_revision',
] as const satisfies readonly (keyof Tables['automation'])[];

export type OwnerFactRow = Pick<Tables['automation'], (typeof ownerFactColumns)[number]>;

export function ownerFactsOf(row: OwnerFactRow): OwnerFacts {
  return {
    lastRunAt: { key: row.last_run_at_key, revision: row.last_run_revision },
    nextRunAt: { key: row.next_run_at_key, revision: row.next_run_revision },
  };
}

/** The columns that keep the facts of another row, for the fields that `facts` has. */
export function columnsOfFacts({ lastRunAt, nextRunAt }: Partial<OwnerFacts>): Partial<Tables['automation']> {
  return {
    ...(lastRunAt && { last_run_at_key: lastRunAt.key, last_run_revision: lastRunAt.revision }),
    ...(nextRunAt && { next_run_at_key: nextRunAt.key, next_run_revision: nextRunAt.revision }),
  };
}
