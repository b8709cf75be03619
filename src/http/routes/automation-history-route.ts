import type { AutomationCatalogue } from '#automations/automation-catalogue.ts';
import { historyChanges } from '#automations/automation-history.ts';
import { automationSchema } from '#automations/automation-schema.ts';
import { Type } from '#base/json-schema.ts';
import { cursorMembers, type QueryParameter } from '#base/text/query-parameters.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { type ApiRoute, rawJson, route } from '../route.ts';
import { cursorPage, isoTime, time } from './lists.ts';
import { catalogueReading } from './route-traits.ts';

/** `mask`: replaces the values of secrets of workflows in a JSON text. */
export function automationHistoryRoute(catalogue: AutomationCatalogue, mask: (jsonText: string) => string): ApiRoute {
  return readAutomationHistory.serve(async ({ principal, params, query: { cursor: before } }) => {
    const { list, next } = await catalogue.history({ principal, ...params, before });
    const entries = list.map(({ at, principal: by, change, document }) => {
      const entry = JSON.stringify({ at: isoTime(at), principal: by, change });
      // The document keeps the digits of its numbers.
      return `${entry.slice(0, -1)},"document":${mask(document)}}`;
    });
    const cursor = next === undefined ? '' : `,"cursor":${JSON.stringify(writeCursor(next))}`;
    return rawJson(200, `{"list":[${entries.join(',')}]${cursor}}`);
  });
}

const cursor: QueryParameter<number, undefined> = {
  description: '`cursor` of the previous page, unchanged.',
  schema: Type.String(),
  parse(text) {
    const [number, ...more] = cursorMembers(text);
    return Number.isSafeInteger(number) && more.length === 0 ? (number as number) : undefined;
  },
  wanted: 'a cursor of this route; take it from the reply before as it is',
  absent: undefined,
};

function writeCursor(number: number): string {
  return Buffer.from(JSON.stringify([number])).toString('base64url');
}

const document = {
  _id: '65f0c2a1b4d3e2f1a0b9c8d7',
  name: 'Backup of core routers',
  data: { gbac: { write: [], read: [] }, lastUpdated: '2026-03-01T22:00:00.000Z', workflowId: 'backup' },
  lastModifiedBy: 'admin',
};

const readAutomationHistory = route('GET /automation_catalog/automations/:id/history', {
  ...catalogueReading,
  tag: 'automations',
  operationId: 'readAutomationHistory',
  summary: 'Read what people changed of an automation, the newest first',
  description:
    'For those who may read the automation. Changes are left out whose `document` the caller could not read if it were the present one, by its groups and its workflow. A write that changes no value has no entry, and neither has what a schedule does by itself. `document` is as it was after the change, or before the deletion. Of a deleted automation for admins alone, for `audit.retention`. What an automation with the same `_id` was before a deletion is also for admins alone.',
  params: { id: '`_id` of the automation.' },
  query: { cursor },
  reply: {
    ...cursorPage(
      'AutomationHistory',
      namedObject('AutomationChange', {
        at: time,
        principal: Type.String({ description: 'The name of the person; empty: a command on the store made the change.' }),
        change: Type.Enum([...historyChanges]),
        document: automationSchema,
      }),
    ),
    description:
      'The newest 50 changes that have 1 MiB together, at least one, without those that are left out; `cursor` if there are older ones.',
  },
  errors: ['automation-not-found'],
  example: {
    path: { id: document._id },
    reply: { list: [{ at: '2026-03-01T22:00:00.000Z', principal: 'admin', change: 'created', document }] },
  },
});
