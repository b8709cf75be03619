import type { AutomationCatalogue } from '#automations/automation-catalogue.ts';
import { contentProblems, type GivenAutomation, patchProblems } from '#automations/automation-document.ts';
import { inputPointer, withInput } from '#automations/automation-input.ts';
import {
  automationPatchSchema,
  automationSchema,
  givenAutomationSchema,
  storedAutomationSchema,
} from '#automations/automation-schema.ts';
import { matchesNone, type Preconditions, requireMatch } from '#automations/entity-tag.ts';
import type { Judgement, Route, RouteDocs, RouteRequest } from '#http/route.ts';
import { document, noteChange, type StoredReply, storedReply, type WarningsOf } from './automation-replies.ts';
import { catalogueChange, catalogueReading } from './route-traits.ts';

const given = { kind: 'json', schema: givenAutomationSchema, opaque: [inputPointer], judge: judgeContent } as const;

/** Answers the body with its `data.input`, which the reader left out. */
function judgeContent(body: unknown, spans: ReadonlyMap<string, Buffer>): Judgement {
  const { value, problems } = withInput(body, spans);
  return { problems: [...contentProblems(body), ...problems], judged: value };
}

function judgePatch(body: unknown, spans: ReadonlyMap<string, Buffer>): Judgement {
  const { value, problems } = withInput(body, spans);
  return { problems: [...patchProblems(body), ...problems], judged: value };
}

export interface AutomationWritingNeeds {
  /** In front of the path in `Location`. */
  readonly base: string;
  readonly warningsOf: WarningsOf;
}

/** Reading and writing one automation. */
export function automationWritingRoutes(
  catalogue: AutomationCatalogue,
  { base, warningsOf }: AutomationWritingNeeds,
): readonly Route[] {
  const stored = storedReply(warningsOf);
  return [
    createRoute(catalogue, { base, stored }),
    readRoute(catalogue),
    replaceRoute(catalogue, stored),
    patchRoute(catalogue, stored),
    removeRoute(catalogue),
    takeRoute(catalogue, stored),
  ];
}

function target({ context, params }: RouteRequest) {
  return { principal: context.record.principal, id: params['id'] ?? '' };
}

function preconditionsOf({ headers }: RouteRequest): Preconditions {
  return { ifMatch: headers['if-match'], ifNoneMatch: headers['if-none-match'] };
}

const entityTagHeader = { ETag: 'Entity tag of the automation, for `If-Match`; the same on every gateway.' };
const conditions: NonNullable<RouteDocs['requestHeaders']> = [
  { name: 'If-Match', description: 'The automation must have one of these entity tags; otherwise 412.' },
  { name: 'If-None-Match', description: 'The automation must have none of these entity tags; otherwise 412.' },
];
const warningsDescription = '`warnings` is there where its schedule can begin no run.';
const pathParameters = { id: '`_id` of the automation.' };
const givenExample = {
  name: 'Backup of core routers',
  data: { gbac: { write: ['network-ops'], read: [] }, workflowId: 'backup' },
  repeatInterval: '1 day',
};
const example = {
  _id: '65f0c2a1b4d3e2f1a0b9c8d7',
  name: 'Backup of core routers',
  data: { gbac: { write: ['network-ops'], read: [] }, lastUpdated: '2026-03-01T22:00:00.000Z', workflowId: 'backup' },
  lastModifiedBy: 'admin',
  repeatInterval: '1 day',
};

function createRoute(
  catalogue: AutomationCatalogue,
  { base, stored }: { readonly base: string; readonly stored: StoredReply },
): Route {
  return {
    method: 'POST',
    url: '/automation_catalog/automations',
    body: given,
    async handle({ context, judged }) {
      const state = await catalogue.create({ principal: context.record.principal, given: judged as GivenAutomation });
      const headers = { Location: `${base}/automation_catalog/automations/${state.id}` };
      return await stored(context, state, { status: 201, headers });
    },
    ...catalogueChange,
    docs: {
      tag: 'automations',
      operationId: 'createAutomation',
      summary: 'Create an automation',
      description:
        'Only `name` is required. The gateway sets `_id`, `lastModifiedBy` and `data.lastUpdated`, and ignores them in the body.',
      success: {
        status: 201,
        description: `The automation as stored. ${warningsDescription}`,
        schema: storedAutomationSchema,
        headers: {
          ...entityTagHeader,
          Location: 'Address of the automation: its path, under `server.publicUrl` where that is set.',
        },
      },
      errors: ['workflow-invalid', 'automation-exists', 'store-unavailable'],
      example: {
        request: givenExample,
        reply: example,
      },
    },
  };
}

function readRoute(catalogue: AutomationCatalogue): Route {
  return {
    method: 'GET',
    url: '/automation_catalog/automations/:id',
    async handle(request) {
      const state = await catalogue.read(target(request));
      const { ifMatch, ifNoneMatch } = preconditionsOf(request);
      requireMatch({ ifMatch }, state.tag);
      if (matchesNone(ifNoneMatch, state.tag)) return document(200, state);
      return { kind: 'plain', status: 304, headers: { ETag: state.tag } };
    },
    ...catalogueReading,
    docs: {
      tag: 'automations',
      operationId: 'readAutomation',
      summary: 'Read an automation',
      description:
        'An automation that the caller may not see gets 404. A caller with the role engineering sees the automations that it may write.',
      pathParameters,
      requestHeaders: [
        ...conditions.slice(0, 1),
        { name: 'If-None-Match', description: 'Entity tags that the caller has; 304 if one of them is current.' },
      ],
      success: {
        status: 200,
        description: 'The automation.',
        schema: automationSchema,
        headers: entityTagHeader,
      },
      otherReplies: [{ status: 304, description: 'The caller has the current automation.', headers: entityTagHeader }],
      errors: ['automation-not-found', 'precondition-failed', 'store-unavailable'],
      example: { path: { id: example._id }, reply: example },
    },
  };
}

function replaceRoute(catalogue: AutomationCatalogue, stored: StoredReply): Route {
  return {
    method: 'PUT',
    url: '/automation_catalog/automations/:id',
    body: given,
    async handle(request) {
      const given = request.judged as GivenAutomation;
      const state = await catalogue.replace({ ...target(request), preconditions: preconditionsOf(request), given });
      return await stored(request.context, state);
    },
    ...catalogueChange,
    docs: {
      tag: 'automations',
      operationId: 'replaceAutomation',
      summary: 'Replace an automation',
      description: 'The body is the whole automation: a missing field is removed.',
      pathParameters,
      requestHeaders: conditions,
      success: {
        status: 200,
        description: `The automation after the change. ${warningsDescription}`,
        schema: storedAutomationSchema,
        headers: entityTagHeader,
      },
      errors: ['workflow-invalid', 'automation-not-found', 'automation-exists', 'precondition-failed', 'store-unavailable'],
      example: {
        path: { id: example._id },
        request: { name: 'Backup of core routers', repeatInterval: '1 day' },
        reply: { ...example, data: { lastUpdated: example.data.lastUpdated } },
      },
    },
  };
}

function patchRoute(catalogue: AutomationCatalogue, stored: StoredReply): Route {
  return {
    method: 'PATCH',
    url: '/automation_catalog/automations/:id',
    body: {
      kind: 'json',
      // Most HTTP libraries send `application/json` with every JSON body.
      mediaTypes: ['application/merge-patch+json', 'application/json'],
      schema: automationPatchSchema,
      opaque: [inputPointer],
      judge: judgePatch,
    },
    async handle(request) {
      const { judged: patch } = request;
      const state = await catalogue.patch({ ...target(request), preconditions: preconditionsOf(request), patch });
      return await stored(request.context, state);
    },
    ...catalogueChange,
    docs: {
      tag: 'automations',
      operationId: 'patchAutomation',
      summary: 'Change parts of an automation (JSON merge patch, RFC 7396)',
      description:
        'A null member removes the field, an object is merged, any other value replaces the field. The media type `application/json` has the same meaning. A patch of `nextRunAt` alone to `null` pauses the schedule, and to `next` resumes it with its next time from now: callers that may run the automation may do both. A pause by a person who may write the workflow is ended only by such a person.',
      pathParameters,
      requestHeaders: conditions,
      success: {
        status: 200,
        description: `The automation after the change. ${warningsDescription}`,
        schema: storedAutomationSchema,
        headers: entityTagHeader,
      },
      errors: [
        'workflow-invalid',
        'forbidden',
        'automation-not-found',
        'automation-exists',
        'precondition-failed',
        'store-unavailable',
      ],
      example: { path: { id: example._id }, request: { repeatInterval: '1 day', nextRunAt: null }, reply: example },
    },
  };
}

function removeRoute(catalogue: AutomationCatalogue): Route {
  return {
    method: 'DELETE',
    url: '/automation_catalog/automations/:id',
    async handle(request) {
      noteChange(request.context, await catalogue.remove({ ...target(request), preconditions: preconditionsOf(request) }));
      return { kind: 'plain', status: 204 };
    },
    ...catalogueChange,
    docs: {
      tag: 'automations',
      operationId: 'deleteAutomation',
      summary: 'Delete an automation',
      pathParameters,
      requestHeaders: conditions,
      success: { status: 204, description: 'The automation is deleted.' },
      errors: ['automation-not-found', 'precondition-failed', 'store-unavailable'],
      example: { path: { id: example._id } },
    },
  };
}

function takeRoute(catalogue: AutomationCatalogue, stored: StoredReply): Route {
  return {
    method: 'POST',
    url: '/automation_catalog/automations/:id/take',
    async handle(request) {
      const state = await catalogue.take({ ...target(request), preconditions: preconditionsOf(request) });
      return await stored(request.context, state);
    },
    ...catalogueChange,
    docs: {
      tag: 'automations',
      operationId: 'takeAutomation',
      summary: 'Take over an automation',
      description:
        'Makes the caller the author of all that the automation says, and its scheduler. The automation stays as it is. The caller needs the right to write its workflow. Who wrote a value before still approves no call of its runs.',
      pathParameters,
      requestHeaders: conditions,
      success: {
        status: 200,
        description: `The automation. ${warningsDescription}`,
        schema: storedAutomationSchema,
        headers: entityTagHeader,
      },
      errors: ['workflow-invalid', 'automation-not-found', 'precondition-failed', 'store-unavailable'],
      example: {
        path: { id: example._id },
        reply: { ...example, data: { ...example.data, owner: 'admin', scheduledBy: 'admin' } },
      },
    },
  };
}
