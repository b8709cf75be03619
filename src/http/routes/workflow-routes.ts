import { entityTag } from '#automations/entity-tag.ts';
import { workflowListQuery } from '#automations/workflow-list-options.ts';
import { Type } from '#base/json-schema.ts';
import { textParameter, trueParameter } from '#base/text/query-parameters.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { invalidRequest } from '#json/forms/problem-list.ts';
import type { StoredWorkflow, WorkflowCatalogue, WorkflowMediaType } from '#workflows/catalogue/workflow-catalogue.ts';
import { workflowSizeLimit } from '#workflows/read-workflow.ts';
import { functionNames } from '#workflows/workflow.ts';
import { type ApiRoute, json, noContent, type RouteReply, type RouteRequest, rawJson, route } from '../route.ts';
import { countedPage, isoTime, listReply } from './lists.ts';
import { ifNoneMatchDocs, locationDocs, taggedReply } from './resources.ts';
import { catalogueChange, catalogueReading } from './route-traits.ts';

/** The documents that automations name. `base`: in front of the path in `Location`. */
export function workflowRoutes(catalogue: WorkflowCatalogue, base: string): readonly ApiRoute[] {
  return [
    createWorkflow.serve(async (request) => {
      const { workflow, warnings } = await catalogue.create(givenDocument(request));
      const { id, version, text } = workflow;
      request.record.note({ workflow: { id, version } });
      const Location = `${base}/automation_catalog/workflows/${id}?version=${encodeURIComponent(version)}`;
      return json(201, { ...summaryOf(workflow), warnings }, { ETag: entityTag(text), Location });
    }),
    checkWorkflow.serve(async (request) => {
      const { errors, warnings, definition } = await catalogue.check(givenDocument(request));
      const found = `"errors":${JSON.stringify(errors)},"warnings":${JSON.stringify(warnings)}`;
      // The document keeps the digits of its numbers.
      return rawJson(200, `{${found}${definition === undefined ? '' : `,"document":${definition}`}}`);
    }),
    listWorkflows.serve(async ({ query: { storer, contains, ...page }, principal, ...request }) => {
      const { list, total, isCut } = await catalogue.list({ principal, ...page, storer, contains });
      const shown = list.map((each) => ({ ...summaryOf(each), versions: each.versions }));
      return listReply(request, { list: shown, total, ...page, ...(isCut && { limit: list.length }) }, isCut);
    }),
    readWorkflow.serve(async (request) => {
      const { principal, params, query } = request;
      return documentReply(await catalogue.read({ principal, ...params, ...query }), request);
    }),
    deleteWorkflow.serve(async ({ principal, params: { id }, query: { version, tombstone }, record }) => {
      if (tombstone === true) {
        if (version === undefined)
          throw invalidRequest([{ pointer: '?version', detail: 'is missing: tombstone=true needs the version' }]);
        await catalogue.removeTombstone({ principal, id, version });
      } else await catalogue.remove({ principal, id, version });
      record.note({ workflow: { id, version, tombstone } });
      return noContent;
    }),
    takeWorkflow.serve(async ({ principal, params, query, record }) => {
      const name = { ...params, ...query };
      const versions = await catalogue.take({ principal, ...name });
      record.note({ workflow: name });
      return json(200, { id: name.id, versions });
    }),
  ];
}

function givenDocument({
  principal,
  body: bytes,
  headers,
}: Pick<RouteRequest<object, object, Buffer>, 'body' | 'headers' | 'principal'>) {
  const isJson = headers['content-type']?.toLowerCase().startsWith('application/json') === true;
  const mediaType: WorkflowMediaType = isJson ? 'application/json' : 'application/yaml';
  return { principal, bytes, mediaType };
}

/** What a reply says of a workflow without its document. */
function summaryOf({
  id,
  version,
  title,
  functions: calls,
  createdAt,
  createdBy,
}: Pick<StoredWorkflow, 'id' | 'version' | 'title' | 'functions' | 'createdAt' | 'createdBy'>) {
  return { id, version, title, calls, createdAt: isoTime(createdAt), createdBy };
}

function documentReply(workflow: StoredWorkflow, request: Pick<RouteRequest, 'headers'>): RouteReply<never> {
  const isConverted = workflow.mediaType !== 'application/json' && prefersJson(request.headers.accept);
  const body = isConverted ? workflow.definition : workflow.text;
  const mediaType = isConverted ? 'application/json' : workflow.mediaType;
  return taggedReply(request, { headers: { ETag: entityTag(body), Vary: 'Accept' }, mediaType, body });
}

const text = Type.String();
const place = Type.Integer({ minimum: 1 });

/** What the documentation shows of a document; its whole form is that of the DSL. */
const documentSchema = Type.Object(
  {
    document: Type.Object(
      {
        dsl: Type.String({ description: 'The version of the DSL, 1.0.x.' }),
        namespace: text,
        name: text,
        version: Type.String({ description: 'A semantic version.' }),
        title: Type.Optional(text),
        summary: Type.Optional(text),
      },
      { title: 'WorkflowName' },
    ),
    do: Type.Array(Type.Unknown(), { description: 'The tasks, each an object with one member, whose name is that of the task.' }),
  },
  { title: 'WorkflowDocument', description: 'A document of the Serverless Workflow DSL 1.0, in YAML 1.2 or JSON.' },
);

const documentBody = {
  kind: 'document',
  mediaTypes: ['application/json', 'application/yaml'],
  limit: workflowSizeLimit,
  schema: documentSchema,
} as const;

const problems = Type.Array(
  namedObject('WorkflowProblem', {
    pointer: Type.String({ description: 'RFC 6901 JSON pointer into the document.' }),
    detail: Type.String({ description: 'What is wrong, and what to do.' }),
    line: place,
    column: place,
  }),
);

const checkedSchema = namedObject('CheckedWorkflow', {
  errors: problems,
  warnings: problems,
  document: Type.Optional(
    Type.Unknown({ description: 'The document as JSON, also one with errors; missing where its text cannot be read.' }),
  ),
});

const summary = {
  id: Type.String({ description: '`namespace.name`.' }),
  version: text,
  title: Type.Optional(text),
  calls: Type.Array(Type.Enum([...functionNames]), { description: 'The functions that the workflow may call itself.' }),
  createdAt: Type.String({ format: 'date-time' }),
  createdBy: text,
};

const storedSchema = namedObject('StoredWorkflow', { ...summary, warnings: problems });

const listedSchema = namedObject('ListedWorkflow', {
  ...summary,
  versions: Type.Array(text, { description: 'All versions, the newest first, pre-releases included.' }),
});

const exampleName = { id: 'lab.sync', version: '1.0.0' };

const exampleDocument = {
  document: { dsl: '1.0.3', namespace: 'lab', name: 'sync', version: '1.0.0' },
  do: [{ check: { call: 'restCall', with: { uri: 'https://example.net/status', verb: 'GET' } } }],
};

const exampleStamp = { calls: ['restCall'], createdAt: '2026-03-01T22:00:00.000Z', createdBy: 'admin' };

const createWorkflow = route('POST /automation_catalog/workflows', {
  ...catalogueChange,
  tag: 'workflows',
  operationId: 'createWorkflow',
  summary: 'Store a version of a workflow',
  description:
    'The document has its own id, `namespace.name`, and version. A version never changes: the same bytes again get the same reply, other content gets 409. A role or a right has to allow each call of the document, and of the workflows that it runs; 403 lists the calls that are missing.',
  body: documentBody,
  reply: {
    status: 201,
    description: 'The version is stored.',
    schema: storedSchema,
    headers: { ETag: 'Entity tag of the document as it was written.', ...locationDocs('this version') },
  },
  errors: ['workflow-invalid', 'workflow-exists'],
  example: { request: exampleDocument, reply: { ...exampleName, ...exampleStamp, warnings: [] } },
});

const checkWorkflow = route('POST /automation_catalog/workflows/check', {
  ...catalogueReading,
  tag: 'workflows',
  operationId: 'checkWorkflow',
  summary: 'Check a workflow and store nothing',
  description:
    'Finds the same problems as storing the document does, with the calls for which the caller has no right. No expression is run.',
  body: documentBody,
  reply: { description: 'All problems and warnings; without errors it could be stored.', schema: checkedSchema },
  example: {
    request: { ...exampleDocument, schedule: { every: 'P1D' } },
    reply: {
      errors: [
        {
          pointer: '/schedule',
          detail: 'is not part of a workflow here: the automation that runs it has the schedule (repeatInterval or cron)',
          line: 1,
          column: 173,
        },
      ],
      warnings: [],
      document: { ...exampleDocument, schedule: { every: 'P1D' } },
    },
  },
});

const listWorkflows = route('GET /automation_catalog/workflows', {
  ...catalogueReading,
  tag: 'workflows',
  operationId: 'listWorkflows',
  summary: 'List the workflows by id',
  description: 'Each workflow is listed once, with its newest version. The options have the forms of the listing of automations.',
  query: workflowListQuery,
  reply: countedPage('WorkflowList', listedSchema),
  example: {
    query: { limit: 50 },
    reply: { list: [{ ...exampleName, ...exampleStamp, versions: ['1.0.0'] }], total: 1, skip: 0, limit: 50 },
  },
});

const params = { id: '`namespace.name` of the workflow.' };

const readWorkflow = route('GET /automation_catalog/workflows/:id', {
  ...catalogueReading,
  tag: 'workflows',
  operationId: 'readWorkflow',
  summary: 'Read a workflow',
  description:
    'The document byte for byte as it was written, or as JSON where `Accept` prefers `application/json` to `application/yaml`.',
  params,
  query: {
    version: textParameter(
      'A version; without it the highest release by semantic versioning, or where there is none the highest pre-release.',
    ),
  },
  requestHeaders: { Accept: '`application/json` for the document as JSON.', ...ifNoneMatchDocs },
  reply: {
    description: 'The document.',
    schema: documentSchema,
    otherMediaTypes: ['application/yaml'],
    headers: { ETag: 'Entity tag of this form of the document.' },
  },
  otherReplies: [{ status: 304, description: 'The caller has this document.', headers: { ETag: 'Its entity tag.' } }],
  errors: ['workflow-not-found'],
  example: { path: { id: exampleName.id }, reply: exampleDocument },
});

const tombstone = trueParameter(
  '`true`, for admins: removes the tombstone of the deleted version that `version` names, so that other bytes can take its place.',
  'leave it out to delete a version',
);

const deleteWorkflow = route('DELETE /automation_catalog/workflows/:id', {
  ...catalogueChange,
  tag: 'workflows',
  operationId: 'deleteWorkflow',
  summary: 'Delete a workflow',
  description:
    'Deletes the version that `version` names, otherwise all versions. It needs the rights that storing the workflow needs. A version leaves a tombstone: the same bytes can be stored again, other bytes under the same version not.',
  params,
  query: { version: textParameter('The version to delete; without it all are deleted.'), tombstone },
  reply: { status: 204, description: 'The workflow is deleted.' },
  errors: ['workflow-not-found', 'workflow-in-use', 'newer-version-needed'],
  example: { path: { id: exampleName.id } },
});

const takeWorkflow = route('POST /automation_catalog/workflows/:id/take', {
  ...catalogueChange,
  tag: 'workflows',
  operationId: 'takeWorkflow',
  summary: 'Take a workflow: answer for its calls from now on',
  description:
    'The caller becomes the storer of the version that `version` names, otherwise of all versions, if it may write the workflow. The calls of runs count by the rights of the storer of now. Who stored the bytes before stays involved, without lending rights.',
  params,
  query: { version: textParameter('The version to take; without it all are taken.') },
  reply: {
    description: 'The versions that the caller took.',
    schema: namedObject('TakenWorkflow', { id: text, versions: Type.Array(text) }),
  },
  errors: ['workflow-invalid', 'workflow-not-found', 'newer-version-needed'],
  example: { path: { id: exampleName.id }, reply: { id: exampleName.id, versions: [exampleName.version] } },
});

/** Whether `Accept` (RFC 9110 12.5.1) weighs `application/json` more than `application/yaml`. Malformed parts are ignored. */
function prefersJson(accept: string | undefined): boolean {
  const ranges = (accept ?? '').split(',').map(readRange);
  return weightOf(ranges, 'application/json') > weightOf(ranges, 'application/yaml');
}

interface MediaRange {
  readonly type: string;
  readonly weight: number;
}

function readRange(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  return { type, weight: weight !== undefined && /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/u.test(weight) ? Number(weight) : 1 };
}

/** The most specific range decides. */
function weightOf(ranges: readonly MediaRange[], type: string): number {
  const found = [type, 'application/*', '*/*'].map((each) => ranges.find((range) => range.type === each));
  return found.find((range) => range !== undefined)?.weight ?? 0;
}
