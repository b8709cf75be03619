import type { RequestProblem } from '#base/gateway-error.ts';
import { Type } from '#base/json-schema.ts';
import { readTimestamp } from '#base/text/timestamp.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import type { RunCatalogue } from '#runs/catalogue/run-catalogue.ts';
import type { RunRequest, StartedRun, WholeRun } from '#runs/catalogue/run-requests.ts';
import { idempotencyKeyOf } from '../../idempotency.ts';
import { type ApiRoute, type RouteReply, type RouteRequest, rawJson, route } from '../../route.ts';
import { jsonBody } from '../../route-body.ts';
import { locationDocs } from '../resources.ts';
import { catalogueChange } from '../route-traits.ts';
import {
  changedReply,
  exampleRunPath,
  memberText,
  type NotedRecord,
  noteRunOf,
  replyComesAfterIt,
  runChange,
  runChangeErrors,
} from './run-changes.ts';
import { runDecisionRoutes } from './run-decision-routes.ts';
import { exampleRun, exampleStarted, repeatedRunSchema, runSchema } from './run-schemas.ts';
import { runText } from './run-texts.ts';

/** Starting runs, and changing them. */
export function runCommandRoutes(runs: RunCatalogue, base: string): readonly ApiRoute[] {
  const command = (declared: typeof cancelRun, take: (request: RunRequest) => Promise<WholeRun>): ApiRoute =>
    declared.serve(async ({ principal, params, record }) => changedReply(record, await take({ principal, ...params })));
  return [
    runAutomation.serve(async (request) => {
      const { principal, params, body, record } = request;
      const { version, notBefore } = body;
      const time = notBefore === undefined ? undefined : Date.parse(readTimestamp(notBefore) ?? '');
      const started = { principal, automation: params.id, version, notBefore: time, ...readStart(request) };
      return startedReply(record, await runs.start(started), base);
    }),
    command(cancelRun, (request) => runs.cancel(request)),
    command(suspendRun, (request) => runs.suspend(request)),
    ...runDecisionRoutes(runs),
    rerunRun.serve(async (request) => {
      const { principal, params, body, record } = request;
      const { version, items } = body;
      return startedReply(record, await runs.rerun({ principal, ...params, version, items, ...readStart(request) }), base);
    }),
  ];
}

function startedReply(record: NotedRecord, { run, replayed, warnings = [] }: StartedRun, base: string): RouteReply<never> {
  noteRunOf(record, run);
  const headers = { Location: `${base}/runs/${run.id}`, ...(replayed && { 'Idempotency-Replayed': 'true' }) };
  return rawJson(201, runText(run, warnings), headers);
}

/** What a request to start a run gives. */
function readStart({ headers, spans }: Pick<RouteRequest, 'headers' | 'spans'>) {
  return { key: idempotencyKeyOf(headers), input: memberText(spans, '/input') };
}

function timeProblems(body: unknown): readonly RequestProblem[] {
  const { notBefore } = body as { readonly notBefore?: unknown };
  if (typeof notBefore !== 'string' || readTimestamp(notBefore) !== undefined) return [];
  return [{ pointer: '/notBefore', detail: 'is not a time such as 2026-11-21T22:00:00Z (RFC 3339)' }];
}

const startSchema = namedObject('RunRequest', {
  input: Type.Optional(
    Type.Object({}, { description: 'The input of the run; where absent, `data.input` of the automation, otherwise `{}`.' }),
  ),
  version: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'The version of the workflow, for those who may write the workflow; where absent, the newest release.',
    }),
  ),
  notBefore: Type.Optional(
    Type.String({
      description:
        'No call that may change something leaves before this time (RFC 3339), at most 7 days ahead. Queries, previews and approvals happen at once, and approvals expire their `expires` after it.',
    }),
  ),
});

const startBody = jsonBody(startSchema, {
  optional: true,
  opaque: ['/input'],
  judge: (body) => ({ problems: timeProblems(body) }),
});

/** The items of the repeated run belong to its input. */
function inputWithItems(body: unknown): readonly RequestProblem[] {
  const hasBoth = typeof body === 'object' && body !== null && 'items' in body && 'input' in body;
  return hasBoth
    ? [{ pointer: '/items', detail: 'is given together with input, and is about the input of the repeated run; leave one out' }]
    : [];
}

const rerunSchema = namedObject('RerunRequest', {
  input: Type.Optional(Type.Object({}, { description: 'The input of the new run; where absent, that of the repeated one.' })),
  items: Type.Optional(
    Type.Enum(['failed'], {
      description:
        'Each batch takes its items and their indices from the repeated run, which has ended: those that failed, were cancelled or did not start. Without `input`.',
    }),
  ),
  version: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'The version of the workflow, for those who may write the workflow; where absent, that of the repeated run.',
    }),
  ),
});

const runKeyHeader = {
  'Idempotency-Key':
    '1 to 255 visible ASCII characters. A request of the same caller for the same automation with the same key and input gets the run that the first one started, as long as the gateway keeps that run.',
};

const startedHeaders = {
  ...locationDocs('the run'),
  'Idempotency-Replayed': '`true`: an earlier request with this Idempotency-Key started the run.',
};

const runAutomation = route('POST /automation_catalog/automations/:id/run', {
  ...catalogueChange,
  tag: 'runs',
  operationId: 'runAutomation',
  summary: 'Run an automation',
  description:
    'Starts the newest release of the workflow that the automation names, or `version`, which those who may write the workflow choose. With `notBefore` its changes wait for that time. For the roles that may change the automation, and for the members of its `gbac.write` groups in any role. The input has to satisfy the form of the automation and the input schema of the workflow.',
  params: { id: '`_id` of the automation.' },
  requestHeaders: runKeyHeader,
  body: startBody,
  reply: { status: 201, description: 'The run.', schema: runSchema, headers: startedHeaders },
  errors: [
    'quota-reached',
    'forbidden',
    'automation-not-found',
    'workflow-not-found',
    'delegation-lost',
    'newer-version-needed',
    'idempotency-key-reused',
  ],
  example: { path: { id: exampleRun.automation }, request: { input: exampleRun.input }, reply: exampleStarted },
});

const cancelRun = route('POST /runs/:id/cancel', {
  ...runChange,
  operationId: 'cancelRun',
  summary: 'Cancel a run',
  description: `No further task begins, and a call in flight is aborted: its outcome may be unknown. The runs that the run began are cancelled too. For those who may run its automation. ${replyComesAfterIt}`,
  example: { path: exampleRunPath, reply: { ...exampleRun, status: 'cancelled', endedAt: '2026-03-01T22:00:00.480Z' } },
});

const suspendRun = route('POST /runs/:id/suspend', {
  ...runChange,
  operationId: 'suspendRun',
  summary: 'Suspend a run',
  description: `No further task begins until the run is resumed. Calls in flight end first; time limits wait. For those who may run its automation. ${replyComesAfterIt}`,
  example: { path: exampleRunPath, reply: { ...exampleRun, status: 'suspended' } },
});

const rerunRun = route('POST /runs/:id/rerun', {
  ...runChange,
  operationId: 'rerunRun',
  summary: 'Start a new run like this one',
  description:
    'Without a body with the same input and version. The new run belongs to the caller, and everybody involved in this one is involved in it. For those who may run the automation, of outermost runs alone. A version that a new run would not take is for those who may write the workflow. The input is judged again. With `items` the run repeats what is left of batches, and an item is repeated by one run alone. A batch that had not begun runs whole. Tasks outside of batches run again, as `warnings` says.',
  requestHeaders: runKeyHeader,
  body: jsonBody(rerunSchema, {
    optional: true,
    opaque: ['/input'],
    judge: (body) => ({ problems: inputWithItems(body) }),
  }),
  reply: { status: 201, description: 'The new run.', schema: repeatedRunSchema, headers: startedHeaders },
  errors: [
    'quota-reached',
    ...runChangeErrors,
    'run-has-parent',
    'version-superseded',
    'delegation-lost',
    'workflow-not-found',
    'idempotency-key-reused',
  ],
  example: { path: exampleRunPath, request: { input: exampleRun.input }, reply: exampleStarted },
});
