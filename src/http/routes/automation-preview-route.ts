import type { AutomationCatalogue } from '#automations/automation-catalogue.ts';
import { inputPointer, readDraft } from '#automations/automation-document.ts';
import { givenAutomationSchema, warningSchema } from '#automations/automation-schema.ts';
import { type JsonSchema, Type } from '#base/json-schema.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import type { ReadBody } from '../request-reader.ts';
import { type ApiRoute, json, route } from '../route.ts';
import type { JsonBody } from '../route-body.ts';
import type { AutomationWritingNeeds } from './automation-writing-routes.ts';
import { time } from './lists.ts';
import { catalogueReading } from './route-traits.ts';

export function automationPreviewRoute(
  catalogue: AutomationCatalogue,
  { warningsOf }: Pick<AutomationWritingNeeds, 'warningsOf'>,
): ApiRoute {
  return previewAutomation.serve(async ({ principal, body }) => {
    const draft = await readDraft(body.value, body.spans);
    const { errors, next, stored } = await catalogue.preview({ principal, draft });
    const warnings = stored === undefined ? [] : await warningsOf(stored);
    return json(200, { errors, warnings, next });
  });
}

const anything: JsonSchema = Type.Unknown();

/** What is wrong with a draft is the answer, so no schema refuses it. */
const draftBody: JsonBody<ReadBody> = {
  kind: 'json',
  schema: givenAutomationSchema,
  variants: { schemas: [anything], choose: () => anything },
  opaque: [inputPointer],
  judge: (value, spans) => ({ problems: [], judged: { value, spans } }),
};

const previewAutomation = route('POST /automation_catalog/automations/preview', {
  ...catalogueReading,
  tag: 'automations',
  operationId: 'previewAutomation',
  summary: 'See what an automation would do, and store nothing',
  description:
    'Takes the body of `createAutomation`. `errors` are the reasons for which that would refuse it, and `warnings` those for which its schedule can begin no run. `next` has the first five times by its schedule; they are there with errors too, where the schedule itself is valid.',
  body: draftBody,
  reply: {
    description: 'Without errors it could be stored.',
    schema: namedObject('AutomationPreview', {
      errors: Type.Array(warningSchema),
      warnings: Type.Array(warningSchema),
      next: Type.Array(time, { maxItems: 5 }),
    }),
  },
  example: {
    request: { name: 'Backup of core routers', data: { workflowId: 'backup', cron: '30 6 * * 1-5', timeZone: 'Europe/Berlin' } },
    reply: {
      errors: [],
      warnings: [],
      next: [
        '2026-03-26T05:30:00.000Z',
        '2026-03-27T05:30:00.000Z',
        '2026-03-30T04:30:00.000Z',
        '2026-03-31T04:30:00.000Z',
        '2026-04-01T04:30:00.000Z',
      ],
    },
  },
});
