import type { AutomationCatalogue } from '#automations/automation-catalogue.ts';
import { inputPointer, readDraft } from '#automations/automation-document.ts';
import { givenAutomationSchema, listedAutomationSchema, warningSchema } from '#automations/automation-schema.ts';
import { automationListQuery } from '#automations/list-options.ts';
import { type OtherKinds, transferKinds } from '#automations/transfer/other-kinds.ts';
import { type JsonSchema, Type } from '#base/json-schema.ts';
import { choiceParameter } from '#base/text/query-parameters.ts';
import { fitting } from '#base/visible-page.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { type LastRun, runStatuses } from '#runs/catalogue/run-listing.ts';
import type { ReadBody } from '../request-reader.ts';
import { type ApiRoute, json, rawJson, route } from '../route.ts';
import type { JsonBody } from '../route-body.ts';
import { type AutomationWritingNeeds, automationWritingRoutes } from './automation-writing-routes.ts';
import { countedPage, isoTime, time } from './lists.ts';
import { catalogueChange, catalogueReading } from './route-traits.ts';

interface AutomationNeeds extends AutomationWritingNeeds {
  /** The newest runs of automations, by `_id`. */
  readonly lastRuns: (automations: readonly string[], most: number) => Promise<ReadonlyMap<string, readonly LastRun[]>>;
}

/** Listing the automations, reading and writing one of them, importing and exporting all of them. */
export function automationRoutes(
  catalogue: AutomationCatalogue,
  { others, ...needs }: AutomationNeeds & { readonly others: OtherKinds },
): readonly ApiRoute[] {
  return [
    listAutomations.serve(async ({ query: options, principal, reached }) => {
      const { list: found, total, skip, limit, isCut } = await catalogue.list({ principal, options });
      const { runs } = options;
      const shown = runs === undefined ? found : await withLastRuns(found, runs, needs.lastRuns);
      const list = shown.slice(0, fitting(shown.map((text) => Buffer.byteLength(text))));
      const isShort = isCut || list.length < found.length;
      if (isShort) reached('page');
      // Without `runs` nothing parses the documents.
      return rawJson(
        200,
        `{"list":[${list.join(',')}],"total":${total},"skip":${skip},"limit":${isShort ? list.length : limit}}`,
      );
    }),
    ...automationWritingRoutes(catalogue, needs),
    importAutomations.serve(async ({ body: source, principal, record }) => {
      const { imported, replaced, ids } = await catalogue.import({ principal, source, others });
      record.note({ imported: { documents: imported, ids } });
      return json(200, { imported, replaced });
    }),
    exportAutomations.serve(async ({ principal, query: { kind } }) => {
      const batches = catalogue.export({ principal, kind, others });
      // Read before the status line is sent, so that an unavailable store gets 503.
      const first = await batches.next();
      return { kind: 'streamed', mediaType: ndjson, pieces: lines(first, batches) };
    }),
  ];
}

async function withLastRuns(
  texts: readonly string[],
  most: number,
  lastRuns: AutomationNeeds['lastRuns'],
): Promise<readonly string[]> {
  const listed = texts.map((text) => ({ text, id: (JSON.parse(text) as { readonly _id: string })._id }));
  const runs = await lastRuns(
    listed.map(({ id }) => id),
    most,
  );
  return listed.map(({ text, id }) => {
    const shown = (runs.get(id) ?? []).map(({ endedAt, ...run }) => ({ ...run, endedAt: isoTime(endedAt) }));
    return `${text.slice(0, -1)},"lastRuns":${JSON.stringify(shown)}}`;
  });
}

async function* lines(
  first: IteratorResult<readonly string[], void>,
  rest: AsyncGenerator<readonly string[], void, undefined>,
): AsyncGenerator<Buffer, void, undefined> {
  try {
    for (let next = first; next.done !== true; next = await rest.next()) {
      yield Buffer.from(next.value.map((document) => `${document}\n`).join(''));
    }
  } finally {
    await rest.return();
  }
}

const listAutomations = route('GET /automation_catalog/automations', {
  ...catalogueReading,
  tag: 'automations',
  operationId: 'listAutomations',
  summary: 'List the automations in alphabetical order',
  description:
    'The options have three forms: `?limit=50`, `?queryParameters[limit]=50`, or one JSON object in `queryParameters`. A request uses one form, and each option once. An automation with a `read` list is listed and counted only for members of its `read` and `write` groups and for admins. Two listings run at a time. Others wait for up to 10 seconds, then get 503 `overloaded`; callers that wait take turns.',
  query: automationListQuery,
  reply: {
    ...countedPage('AutomationList', listedAutomationSchema(runStatuses)),
    description:
      'A page, and the effective options. A page has at most 4 MiB, and `limit` is then the number of automations in `list`. `total` counts the automations that the caller may see and the filters match.',
  },
  example: {
    query: { limit: 50, startsWith: 'backup' },
    reply: {
      list: [
        {
          _id: '65f0c2a1b4d3e2f1a0b9c8d7',
          name: 'Backup of core routers',
          data: { gbac: { write: [], read: [] }, lastUpdated: '2026-03-01T22:00:00.000Z', workflowId: 'backup' },
          lastModifiedBy: 'admin',
          nextRunAt: '2026-03-02T22:00:00.000Z',
          repeatInterval: '1 day',
        },
      ],
      total: 1,
      skip: 0,
      limit: 50,
    },
  },
});

const ndjson = 'application/x-ndjson';
const line =
  '{"kind":"automation","document":{"_id":"65f0c2a1b4d3e2f1a0b9c8d7","name":"Backup of core routers","repeatInterval":"1 day"}}';
const lineFormat =
  'A line is `{ "kind": "automation", "document" }`, `{ "kind": "form", "id", "document" }` or `{ "kind": "workflow", "id", "version", "mediaType", "text" }`, where `text` is the document as it was written.';

const importAutomations = route('POST /automation_catalog/import', {
  ...catalogueChange,
  tag: 'automations',
  operationId: 'importAutomations',
  summary: 'Import automations, forms and workflows (NDJSON)',
  description:
    'Imports all documents or none, and judges the right to each like that to a single write. Every field is kept as given, but for those that say who answers for a document: the importer answers for what a line changes. An automation replaces the one with the same `_id`, and a form the one with the same id; an automation without an `_id` gets one. A version of a workflow never changes. The lines may name each other. It has at most 20,000 documents and 64 MiB, and the gateway checks all of it before any change. Four imports run at a time; others wait for ten seconds. The reply names each problem as `/LINE/field` (the first ten thousand).',
  body: {
    kind: 'stream',
    mediaType: ndjson,
    schema: Type.String({
      description: `One document on each line, as JSON of at most 2 MiB; blank lines are skipped. ${lineFormat} A line without \`kind\` is an automation.`,
    }),
  },
  reply: {
    description: 'How many documents were imported, and how many of them replaced another.',
    schema: namedObject('ImportResult', { imported: Type.Integer({ minimum: 0 }), replaced: Type.Integer({ minimum: 0 }) }),
  },
  errors: ['workflow-invalid', 'automation-exists', 'workflow-exists', 'newer-version-needed', 'import-too-large'],
  example: { request: line, reply: { imported: 1, replaced: 0 } },
});

const exportAutomations = route('GET /automation_catalog/export', {
  ...catalogueChange,
  tag: 'automations',
  operationId: 'exportAutomations',
  summary: 'Export the catalogue (NDJSON)',
  description:
    'A snapshot of the catalogue, with one document on each line: the format of the import. The forms come first, in the order of their ids, then the workflows with all their versions, and then the automations by name. An aborted export has no end of the transfer coding; HTTP clients report that as an error. Two exports run at a time.',
  query: { kind: choiceParameter(transferKinds, 'Documents of this kind alone.') },
  reply: { description: lineFormat, mediaType: ndjson, schema: Type.String() },
  example: { reply: line },
});

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
