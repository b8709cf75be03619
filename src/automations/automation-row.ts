import type { Tables } from '#database/tables.ts';
import { type Automation, type TextField, textFields, textOf } from './automation.ts';
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

/** Bytes of a description's key that stand in its index. */
const descriptionStart = 512;

/** One row, but for its audience. */
export function rowOf(automation: Automation): Omit<Tables['automation'], 'audience'> {
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
    document: documentText(automation),
  };
}

/** The JSON text of an automation: its fields in the order of the specification, no white space. The same document is the same text. */
export function documentText({ _id, name, data, lastModifiedBy, lastRunAt, nextRunAt, repeatInterval }: Automation): string {
  return JSON.stringify({
    _id,
    name,
    data: data && {
      gbac: data.gbac && { write: data.gbac.write, read: data.gbac.read },
      lastUpdated: data.lastUpdated,
      description: data.description,
      workflowId: data.workflowId,
      formId: data.formId,
    },
    lastModifiedBy,
    lastRunAt,
    nextRunAt,
    repeatInterval,
  });
}
