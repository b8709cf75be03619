import { entityTag, matchesNone } from '#automations/entity-tag.ts';
import { pageSize, readWorkflowListOptions } from '#automations/list-options.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { Type } from '#base/json-schema.ts';
import { prefersJson } from '#http/accepted-type.ts';
import { json, type Route, type RouteReply, type RouteRequest } from '#http/route.ts';
import type { StoredWorkflow, WorkflowCatalogue, WorkflowMediaType, WorkflowName } from '#workflows/workflow-catalogue.ts';
import { catalogueChange, catalogueReading } from './route-traits.ts';
import {
  checkedSchema,
  documentBody,
  documentSchema,
  exampleDocument,
  exampleName,
  listSchema,
  storedSchema,
  takenSchema,
  versionParameter,
} from './workflow-docs.ts';

/** The documents that automations name. `base`: in front of the path in `Location`. */
export function workflowRoutes(catalogue: WorkflowCatalogue, base: string): readonly Route[] {
  return [
    createRoute(catalogue, base),
    checkRoute(catalogue),
    listRoute(catalogue),
    readRoute(catalogue),
    removeRoute(catalogue),
    takeRoute(catalogue),
  ];
}

function givenDocument({ context, body, headers }: RouteRequest) {
  const isJson = headers['content-type']?.toLowerCase().startsWith('application/json') === true;
  const mediaType: WorkflowMediaType = isJson ? 'application/json' : 'application/yaml';
  return { principal: context.record.principal, bytes: body as Buffer, mediaType };
}

function nameOf({ params, query }: RouteRequest): WorkflowName {
  return { id: params['id'] ?? '', version: query.get('version') ?? undefined };
}

const isVersion = (name: string): boolean => name === 'version';

/** What a reply says of a workflow without its document. */
function summaryOf({
  id,
  version,
  title,
  functions,
  createdAt,
  createdBy,
}: Pick<StoredWorkflow, 'id' | 'version' | 'title' | 'functions' | 'createdAt' | 'createdBy'>) {
  return { id, version, title, calls: functions, createdAt: new Date(createdAt).toISOString(), createdBy };
}

function createRoute(catalogue: WorkflowCatalogue, base: string): Route {
  return {
    method: 'POST',
    url: '/automation_catalog/workflows',
    body: documentBody,
    async handle(request) {
      const { workflow, warnings } = await catalogue.create(givenDocument(request));
      const { id, version, text } = workflow;
      request.context.record.note({ workflow: { id, version } });
      const address = `${base}/automation_catalog/workflows/${id}?version=${encodeURIComponent(version)}`;
      return json(201, { ...summaryOf(workflow), warnings }, { ETag: entityTag(text), Location: address });
    },
    ...catalogueChange,
    docs: {
      tag: 'workflows',
      operationId: 'createWorkflow',
      summary: 'Store a version of a workflow',
      description:
        'The document has its own id, `namespace.name`, and version. A version never changes: the same bytes again get the same reply, other content gets 409. A role or a right has to allow each call of the document, and of the workflows that it runs; 403 lists the calls that are missing.',
      success: {
        status: 201,
        description: 'The version is stored.',
        schema: storedSchema,
        headers: {
          ETag: 'Entity tag of the document as it was written.',
          Location: 'Address of this version: its path, under `server.publicUrl` where that is set.',
        },
      },
      errors: ['workflow-invalid', 'workflow-exists', 'store-unavailable'],
      example: { request: exampleDocument, reply: { ...exampleName, ...exampleStamp, warnings: [] } },
    },
  };
}

const exampleStamp = { calls: ['restCall'], createdAt: '2026-03-01T22:00:00.000Z', createdBy: 'admin' };

function checkRoute(catalogue: WorkflowCatalogue): Route {
  return {
    method: 'POST',
    url: '/automation_catalog/workflows/check',
    body: documentBody,
    async handle(request) {
      const { errors, warnings, definition } = await catalogue.check(givenDocument(request));
      const found = `"errors":${JSON.stringify(errors)},"warnings":${JSON.stringify(warnings)}`;
      // The document keeps the digits of its numbers.
      return { kind: 'plain', status: 200, body: `{${found}${definition === undefined ? '' : `,"document":${definition}`}}` };
    },
    ...catalogueReading,
    docs: {
      tag: 'workflows',
      operationId: 'checkWorkflow',
      summary: 'Check a workflow and store nothing',
      description:
        'Finds the same problems as storing the document does, with the calls for which the caller has no right. No expression is run.',
      success: {
        status: 200,
        description: 'All problems and warnings; without errors it could be stored.',
        schema: checkedSchema,
      },
      errors: [],
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
    },
  };
}

function listRoute(catalogue: WorkflowCatalogue): Route {
  return {
    method: 'GET',
    url: '/automation_catalog/workflows',
    // readWorkflowListOptions checks names and values together, so that one reply lists all problems.
    query: () => true,
    async handle({ query, ...request }) {
      const { storer, ...page } = readWorkflowListOptions(query);
      request.count();
      const { principal } = request.context.record;
      const { list, total, isCut } = await catalogue.list({ principal, ...page, storer });
      if (isCut) request.reached('page');
      const shown = list.map((each) => ({ ...summaryOf(each), versions: each.versions }));
      return json(200, { list: shown, total, ...page, ...(isCut && { limit: list.length }) });
    },
    ...catalogueReading,
    counted: 'judged',
    docs: {
      tag: 'workflows',
      operationId: 'listWorkflows',
      summary: 'List the workflows by id',
      description:
        'Each workflow is listed once, with its newest version. The options have the forms of the listing of automations.',
      queryParameters: [
        {
          name: 'limit',
          description: 'Size of the page; 0 returns only the counts.',
          schema: Type.Integer({ minimum: 0, maximum: pageSize.most, default: pageSize.usual }),
        },
        {
          name: 'skip',
          description: 'Number of workflows to skip.',
          schema: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 }),
        },
        {
          name: 'storer',
          description:
            'Only versions that this principal, by its exact id or name, lends its rights: it stored them first, or took them last.',
          schema: Type.String(),
        },
      ],
      success: { status: 200, description: 'A page, and the effective options.', schema: listSchema },
      errors: ['invalid-request', 'store-unavailable'],
      example: {
        query: { limit: 50 },
        reply: { list: [{ ...exampleName, ...exampleStamp, versions: ['1.0.0'] }], total: 1, skip: 0, limit: 50 },
      },
    },
  };
}

function readRoute(catalogue: WorkflowCatalogue): Route {
  return {
    method: 'GET',
    url: '/automation_catalog/workflows/:id',
    query: isVersion,
    handle: async (request) =>
      documentReply(await catalogue.read({ principal: request.context.record.principal, ...nameOf(request) }), request),
    ...catalogueReading,
    docs: {
      tag: 'workflows',
      operationId: 'readWorkflow',
      summary: 'Read a workflow',
      description:
        'The document byte for byte as it was written, or as JSON where `Accept` prefers `application/json` to `application/yaml`.',
      pathParameters: { id: '`namespace.name` of the workflow.' },
      queryParameters: [versionParameter],
      requestHeaders: [
        { name: 'Accept', description: '`application/json` for the document as JSON.' },
        { name: 'If-None-Match', description: 'Entity tags that the caller has; 304 if one of them is current.' },
      ],
      success: {
        status: 200,
        description: 'The document.',
        schema: documentSchema,
        otherMediaTypes: ['application/yaml'],
        headers: { ETag: 'Entity tag of this form of the document.' },
      },
      otherReplies: [{ status: 304, description: 'The caller has this document.', headers: { ETag: 'Its entity tag.' } }],
      errors: ['workflow-not-found', 'store-unavailable'],
      example: { path: { id: exampleName.id }, reply: exampleDocument },
    },
  };
}

function documentReply(workflow: StoredWorkflow, { headers }: RouteRequest): RouteReply {
  const isConverted = workflow.mediaType !== 'application/json' && prefersJson(headers.accept);
  const body = isConverted ? workflow.definition : workflow.text;
  const known = { ETag: entityTag(body), Vary: 'Accept' };
  if (!matchesNone(headers['if-none-match'], known.ETag)) return { kind: 'plain', status: 304, headers: known };
  const mediaType = isConverted ? 'application/json' : workflow.mediaType;
  return { kind: 'plain', status: 200, headers: known, mediaType, body };
}

function removeRoute(catalogue: WorkflowCatalogue): Route {
  return {
    method: 'DELETE',
    url: '/automation_catalog/workflows/:id',
    query: (name) => isVersion(name) || name === 'tombstone',
    async handle(request) {
      const { principal } = request.context.record;
      const { id, version } = nameOf(request);
      if (isOfTombstone(request)) {
        if (version === undefined) throw withoutVersion();
        await catalogue.removeTombstone({ principal, id, version });
        request.context.record.note({ workflow: { id, version, tombstone: true } });
      } else {
        await catalogue.remove({ principal, id, version });
        request.context.record.note({ workflow: { id, version } });
      }
      return { kind: 'plain', status: 204 };
    },
    ...catalogueChange,
    docs: {
      tag: 'workflows',
      operationId: 'deleteWorkflow',
      summary: 'Delete a workflow',
      description:
        'Deletes the version that `version` names, otherwise all versions. It needs the rights that storing the workflow needs. A version leaves a tombstone: the same bytes can be stored again, other bytes under the same version not.',
      pathParameters: { id: '`namespace.name` of the workflow.' },
      queryParameters: [
        { ...versionParameter, description: 'The version to delete; without it all are deleted.' },
        {
          name: 'tombstone',
          description:
            '`true`, for admins: removes the tombstone of the deleted version that `version` names, so that other bytes can take its place.',
          schema: Type.Enum(['true']),
        },
      ],
      success: { status: 204, description: 'The workflow is deleted.' },
      errors: ['invalid-request', 'workflow-not-found', 'workflow-in-use', 'store-unavailable'],
      example: { path: { id: exampleName.id } },
    },
  };
}

/** Throws `invalid-request` for another value than `true`. */
function isOfTombstone({ query }: RouteRequest): boolean {
  const values = query.getAll('tombstone');
  if (values.length === 0) return false;
  if (values.length === 1 && values[0] === 'true') return true;
  throw new GatewayError('invalid-request', 'The query parameter tombstone can only be true.', {
    errors: [{ pointer: '?tombstone', detail: 'can only be true; leave it out to delete a version' }],
  });
}

function withoutVersion(): GatewayError {
  return new GatewayError('invalid-request', 'Which tombstone is to be removed is not said.', {
    errors: [{ pointer: '?version', detail: 'is missing: tombstone=true needs the version' }],
  });
}

function takeRoute(catalogue: WorkflowCatalogue): Route {
  return {
    method: 'POST',
    url: '/automation_catalog/workflows/:id/take',
    query: isVersion,
    async handle(request) {
      const { principal } = request.context.record;
      const name = nameOf(request);
      const versions = await catalogue.take({ principal, ...name });
      request.context.record.note({ workflow: name });
      return json(200, { id: name.id, versions });
    },
    ...catalogueChange,
    docs: {
      tag: 'workflows',
      operationId: 'takeWorkflow',
      summary: 'Take a workflow: answer for its calls from now on',
      description:
        'The caller becomes the storer of the version that `version` names, otherwise of all versions, if it may write the workflow. The calls of runs count by the rights of the storer of now. Who stored the bytes before stays involved, without lending rights.',
      pathParameters: { id: '`namespace.name` of the workflow.' },
      queryParameters: [{ ...versionParameter, description: 'The version to take; without it all are taken.' }],
      success: { status: 200, description: 'The versions that the caller took.', schema: takenSchema },
      errors: ['workflow-invalid', 'workflow-not-found', 'store-unavailable'],
      example: { path: { id: exampleName.id }, reply: { id: exampleName.id, versions: [exampleName.version] } },
    },
  };
}
