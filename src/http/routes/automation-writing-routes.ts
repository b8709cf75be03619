import type { AutomationCatalogue, AutomationState, AutomationWithPeople } from '#automations/automation-catalogue.ts';
import {
  contentProblems,
  type GivenAutomation,
  inputPointer,
  patchProblems,
  withInput,
} from '#automations/automation-document.ts';
import {
  automationPatchSchema,
  automationSchema,
  givenAutomationSchema,
  storedAutomationSchema,
} from '#automations/automation-schema.ts';
import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import { type ApiRoute, noContent, type RouteReply, type RouteRequest, rawJson, route } from '../route.ts';
import { jsonBody } from '../route-body.ts';
import { locationDocs, preconditionsOf, resourceReply, taggedDocs } from './resources.ts';
import { catalogueChange, catalogueReading } from './route-traits.ts';

export interface AutomationWritingNeeds {
  /** In front of the path in `Location`. */
  readonly base: string;
  /** Why the schedule of an automation, by its `_id` or before it is stored, can begin no run. */
  readonly warningsOf: (automation: string | AutomationWithPeople) => Promise<readonly RequestProblem[]>;
}

/** Reading and writing one automation. */
export function automationWritingRoutes(catalogue: AutomationCatalogue, needs: AutomationWritingNeeds): readonly ApiRoute[] {
  const { base, warningsOf } = needs;
  return [
    createAutomation.serve(async ({ body: given, principal, record }) => {
      const state = await catalogue.create({ principal, given });
      noteChange(record, state);
      const headers = { Location: `${base}/automation_catalog/automations/${state.id}` };
      return await storedReply(state, warningsOf, { status: 201, headers });
    }),
    readAutomation.serve(async (request) => {
      const { text, tag } = await catalogue.read(target(request));
      return resourceReply(request, 'automation', { headers: { ETag: tag }, body: text });
    }),
    replaceAutomation.serve(async (request) => {
      const state = await catalogue.replace({ ...change(request), given: request.body });
      noteChange(request.record, state);
      return await storedReply(state, warningsOf);
    }),
    patchAutomation.serve(async (request) => {
      const state = await catalogue.patch({ ...change(request), patch: request.body });
      noteChange(request.record, state);
      return await storedReply(state, warningsOf);
    }),
    deleteAutomation.serve(async (request) => {
      noteChange(request.record, await catalogue.remove(change(request)));
      return noContent;
    }),
    takeAutomation.serve(async (request) => {
      const state = await catalogue.take(change(request));
      noteChange(request.record, state);
      return await storedReply(state, warningsOf);
    }),
  ];
}

type OfOne = Pick<RouteRequest<{ readonly id: string }>, 'headers' | 'params' | 'principal'>;

function target({ principal, params: { id } }: OfOne) {
  return { principal, id };
}

function change(request: OfOne) {
  return { ...target(request), preconditions: preconditionsOf(request) };
}

/** For the audit log. A refused change has the `_id` in its path alone. */
function noteChange(record: RouteRequest['record'], { id, name }: Pick<AutomationState, 'id' | 'name'>): void {
  record.note({ automation: { _id: id, name } });
}

/** The automation with the warnings about what was stored. */
async function storedReply(
  { id, text, tag }: AutomationState,
  warningsOf: AutomationWritingNeeds['warningsOf'],
  { status, headers }: { readonly status: number; readonly headers: Readonly<Record<string, string>> } = ok,
): Promise<RouteReply<never>> {
  const warnings = await warningsOf(id).catch((error: unknown) => {
    // The change is made: a store that is away by now must not make it look refused.
    if (error instanceof GatewayError) return [];
    throw error;
  });
  const body = warnings.length === 0 ? text : `${text.slice(0, -1)},"warnings":${JSON.stringify(warnings)}}`;
  return rawJson(status, body, { ETag: tag, ...headers });
}

const ok = { status: 200, headers: {} };

const given = jsonBody(givenAutomationSchema, {
  opaque: [inputPointer],
  judge(body, spans) {
    // The reader left `data.input` out.
    const { value, problems } = withInput(body, spans);
    return { problems: [...contentProblems(body), ...problems], judged: value as GivenAutomation };
  },
});

const { tag, conditions, reading } = taggedDocs('automation');
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

const params = { id: '`_id` of the automation.' };
const stored = {
  description: 'The automation after the change. `warnings` is there where its schedule can begin no run.',
  schema: storedAutomationSchema,
  headers: tag,
};
const changeOfOne = { ...catalogueChange, tag: 'automations', params, requestHeaders: conditions, reply: stored } as const;

const createAutomation = route('POST /automation_catalog/automations', {
  ...catalogueChange,
  tag: 'automations',
  operationId: 'createAutomation',
  summary: 'Create an automation',
  description:
    'Only `name` is required. The gateway sets `_id`, `lastModifiedBy` and `data.lastUpdated`, and ignores them in the body.',
  body: given,
  reply: {
    ...stored,
    status: 201,
    description: 'The automation as stored. `warnings` is there where its schedule can begin no run.',
    headers: { ...tag, ...locationDocs('the automation') },
  },
  errors: ['workflow-invalid', 'automation-exists'],
  example: { request: givenExample, reply: example },
});

const readAutomation = route('GET /automation_catalog/automations/:id', {
  ...catalogueReading,
  tag: 'automations',
  operationId: 'readAutomation',
  summary: 'Read an automation',
  description:
    'An automation that the caller may not see gets 404. A caller with the role engineering sees the automations that it may write. `***` is in place of what `data.input` has for password fields of the form, in every reply with the automation but an export. A write of `***` there keeps the value.',
  params,
  ...reading,
  reply: { description: 'The automation.', schema: automationSchema, headers: tag },
  errors: ['automation-not-found', 'precondition-failed'],
  example: { path: { id: example._id }, reply: example },
});

const replaceAutomation = route('PUT /automation_catalog/automations/:id', {
  ...changeOfOne,
  operationId: 'replaceAutomation',
  summary: 'Replace an automation',
  description: 'The body is the whole automation: a missing field is removed.',
  body: given,
  errors: ['workflow-invalid', 'automation-not-found', 'automation-exists', 'newer-version-needed', 'precondition-failed'],
  example: {
    path: { id: example._id },
    request: { name: 'Backup of core routers', repeatInterval: '1 day' },
    reply: { ...example, data: { lastUpdated: example.data.lastUpdated } },
  },
});

const patchAutomation = route('PATCH /automation_catalog/automations/:id', {
  ...changeOfOne,
  operationId: 'patchAutomation',
  summary: 'Change parts of an automation (JSON merge patch, RFC 7396)',
  description:
    'A null member removes the field, an object is merged, any other value replaces the field. The media type `application/json` has the same meaning. A patch of `nextRunAt` alone to `null` pauses the schedule, and to `next` resumes it with its next time from now: callers that may run the automation may do both. A pause by a person who may write the workflow is ended only by such a person.',
  body: jsonBody(automationPatchSchema, {
    // Most HTTP libraries send `application/json` with every JSON body.
    mediaTypes: ['application/merge-patch+json', 'application/json'],
    opaque: [inputPointer],
    judge(body, spans) {
      const { value, problems } = withInput(body, spans);
      return { problems: [...patchProblems(body), ...problems], judged: value };
    },
  }),
  errors: [
    'workflow-invalid',
    'forbidden',
    'automation-not-found',
    'automation-exists',
    'newer-version-needed',
    'precondition-failed',
  ],
  example: { path: { id: example._id }, request: { repeatInterval: '1 day', nextRunAt: null }, reply: example },
});

const deleteAutomation = route('DELETE /automation_catalog/automations/:id', {
  ...changeOfOne,
  operationId: 'deleteAutomation',
  summary: 'Delete an automation',
  reply: { status: 204, description: 'The automation is deleted.' },
  errors: ['automation-not-found', 'newer-version-needed', 'precondition-failed'],
  example: { path: { id: example._id } },
});

const takeAutomation = route('POST /automation_catalog/automations/:id/take', {
  ...changeOfOne,
  operationId: 'takeAutomation',
  summary: 'Take over an automation',
  description:
    'Makes the caller the author of all that the automation says, and its scheduler. The automation stays as it is. The caller needs the right to write its workflow. Who wrote a value before still approves no call of its runs.',
  errors: ['workflow-invalid', 'automation-not-found', 'newer-version-needed', 'precondition-failed'],
  example: {
    path: { id: example._id },
    reply: { ...example, data: { ...example.data, owner: 'admin', scheduledBy: 'admin' } },
  },
});
