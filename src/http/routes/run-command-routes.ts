import type { RequestProblem } from '#base/gateway-error.ts';
import { idempotencyKeyOf } from '#http/idempotency.ts';
import type { JsonBody, Route, RouteReply, RouteRequest } from '#http/route.ts';
import { compactJson } from '#json/compact-json.ts';
import type { RunCatalogue } from '#runs/run-catalogue.ts';
import type { StoredRun } from '#runs/run-records.ts';
import type { RunDecision, StartedRun } from '#runs/run-requests.ts';
import { catalogueChange } from './route-traits.ts';
import {
  changeErrors,
  exampleRun,
  exampleStarted,
  rerunSchema,
  resumeSchema,
  runDecisionSchema,
  runKeyHeader,
  runParameter,
  runSchema,
  startedHeaders,
  startSchema,
} from './run-docs.ts';
import { askedRun, jsonReply, runText } from './run-texts.ts';

/** Starting runs, and changing them. */
export function runCommandRoutes(runs: RunCatalogue, base: string): readonly Route[] {
  return [
    startRoute(runs, base),
    commandRoute({
      url: '/runs/:id/cancel',
      take: (request) => runs.cancel(request),
      operationId: 'cancelRun',
      summary: 'Cancel a run',
      description:
        'No further task begins, and a call in flight is aborted: its outcome may be unknown. The runs that the run began are cancelled too.',
      shown: { status: 'cancelled', endedAt: '2026-03-01T22:00:00.480Z' },
    }),
    commandRoute({
      url: '/runs/:id/suspend',
      take: (request) => runs.suspend(request),
      operationId: 'suspendRun',
      summary: 'Suspend a run',
      description: 'No further task begins until the run is resumed. Calls in flight end first; time limits wait.',
      shown: { status: 'suspended' },
    }),
    resumeRoute(runs),
    decideRoute(runs),
    rerunRoute(runs, base),
  ];
}

/** For the audit log. */
function noteRun({ context }: RouteRequest, { id, automation }: StoredRun): void {
  context.record.note({ run: id, ...(automation && { automation: { _id: automation.id, name: automation.name } }) });
}

function startedReply({ run, replayed }: StartedRun, base: string): RouteReply {
  const headers = { Location: `${base}/runs/${run.id}`, ...(replayed && { 'Idempotency-Replayed': 'true' }) };
  return jsonReply(201, runText(run), headers);
}

const startBody: JsonBody = { kind: 'json', optional: true, schema: startSchema, opaque: ['/input'] };

function startRoute(runs: RunCatalogue, base: string): Route {
  return {
    method: 'POST',
    url: '/automation_catalog/automations/:id/run',
    body: startBody,
    async handle(request) {
      const { id: automation, principal } = askedRun(request);
      const key = idempotencyKeyOf(request.headers);
      const { version } = request.body as { readonly version?: string };
      const started = await runs.start({ principal, automation, key, version, input: memberText(request, '/input') });
      noteRun(request, started.run);
      return startedReply(started, base);
    },
    ...catalogueChange,
    docs: {
      tag: 'runs',
      operationId: 'runAutomation',
      summary: 'Run an automation',
      description:
        'Starts the newest release of the workflow that the automation names, or `version`, which those who may write the workflow choose. For the roles that may change the automation, and for the members of its `gbac.write` groups in any role. The input has to satisfy the form of the automation and the input schema of the workflow.',
      pathParameters: { id: '`_id` of the automation.' },
      requestHeaders: [runKeyHeader],
      success: { status: 201, description: 'The run.', schema: runSchema, headers: startedHeaders },
      errors: [
        'quota-reached',
        'forbidden',
        'automation-not-found',
        'workflow-not-found',
        'delegation-lost',
        'idempotency-key-reused',
        'store-unavailable',
      ],
      statuses: { 'workflow-not-found': 409 },
      example: {
        path: { id: exampleRun.automation },
        request: { input: exampleRun.input },
        reply: exampleStarted,
      },
    },
  };
}

/** The member as the caller wrote it. */
function memberText({ spans }: RouteRequest, pointer: string): string | undefined {
  const bytes = spans.get(pointer);
  return bytes && compactJson(bytes);
}

function commandRoute({
  url,
  take,
  operationId,
  summary,
  description,
  shown,
}: Pick<Route, 'url'> &
  Pick<Route['docs'], 'operationId' | 'summary' | 'description'> & {
    readonly take: (request: ReturnType<typeof askedRun>) => Promise<StoredRun>;
    /** Of the run in the example. */
    readonly shown: { readonly status: StoredRun['status']; readonly endedAt?: string };
  }): Route {
  return {
    method: 'POST',
    url,
    async handle(request) {
      const run = await take(askedRun(request));
      noteRun(request, run);
      return jsonReply(200, runText(run));
    },
    ...catalogueChange,
    docs: {
      tag: 'runs',
      operationId,
      summary,
      description: `${description} For those who may run its automation. ${replyComesAfterIt}`,
      pathParameters: runParameter,
      success: { status: 200, description: 'The run after the change.', schema: runSchema },
      errors: changeErrors,
      example: { path: { id: exampleRun.id }, reply: { ...exampleRun, ...shown } },
    },
  };
}

const replyComesAfterIt =
  'The reply comes once the run has taken the change, or after 5 seconds with the run as it is then; it takes the change later.';

const resumeBody: JsonBody = {
  kind: 'json',
  optional: true,
  schema: resumeSchema,
  opaque: ['/output'],
  judge: (body) => ({ problems: [...missingMembers(body), ...needlessOutput(body)] }),
};

const decisionBody: JsonBody = {
  kind: 'json',
  schema: runDecisionSchema,
  opaque: ['/output'],
  judge: (body) => ({ problems: needlessOutput(body) }),
};

function isEmpty(body: unknown): boolean {
  return typeof body === 'object' && body !== null && Object.keys(body).length === 0;
}

/** All of the members that a decision needs, or none at all. */
function missingMembers(body: unknown): readonly RequestProblem[] {
  if (typeof body !== 'object' || body === null || isEmpty(body)) return [];
  const missing = (['task', 'as', 'reason'] as const).filter((name) => !(name in body));
  return missing.map((name) => ({
    pointer: `/${name}`,
    detail: 'is missing: a decision needs task, as and reason; to resume without one send no member',
  }));
}

function needlessOutput(body: unknown): readonly RequestProblem[] {
  const isNeedless = typeof body === 'object' && body !== null && 'output' in body && 'as' in body && body.as !== 'done';
  return isNeedless ? [{ pointer: '/output', detail: 'is only for "as": "done"; leave it out' }] : [];
}

function resumeRoute(runs: RunCatalogue): Route {
  return {
    method: 'POST',
    url: '/runs/:id/resume',
    body: resumeBody,
    async handle(request) {
      const asked = askedRun(request);
      const run = await (isEmpty(request.body)
        ? runs.resume(asked)
        : runs.decide({ ...asked, decision: notedDecision(request), resumes: true }));
      noteRun(request, run);
      return jsonReply(200, runText(run));
    },
    ...catalogueChange,
    docs: {
      tag: 'runs',
      operationId: 'resumeRun',
      summary: 'Resume a suspended run, or decide about a call whose outcome is unknown',
      description: `Without a body: for those who may run its automation. A run that is suspended because the outcome of a call is unknown needs a decision instead, as decideRun takes it; who sends it here needs the rights to both. ${replyComesAfterIt}`,
      ...decisionDocs,
    },
  };
}

/** Of both routes that take a decision. */
const decisionDocs = {
  pathParameters: runParameter,
  success: { status: 200, description: 'The run after the change.', schema: runSchema },
  errors: changeErrors,
  example: {
    path: { id: exampleRun.id },
    request: { task: '1', as: 'done', reason: 'The device has the change: show log, 22:04.' },
    reply: exampleRun,
  },
} as const;

/** The decision, with its reason in the record, also where it is refused. */
function notedDecision(request: RouteRequest): RunDecision {
  const { task, as, reason } = request.body as RunDecision;
  request.context.record.note({ reason });
  return { task, as, reason, output: memberText(request, '/output') };
}

function decideRoute(runs: RunCatalogue): Route {
  return {
    method: 'POST',
    url: '/runs/:id/decide',
    body: decisionBody,
    async handle(request) {
      const run = await runs.decide({ ...askedRun(request), decision: notedDecision(request) });
      noteRun(request, run);
      return jsonReply(200, runText(run));
    },
    ...catalogueChange,
    docs: {
      tag: 'runs',
      operationId: 'decideRun',
      summary: 'Decide about a call whose outcome is unknown',
      description: `A run is suspended where the outcome of a call is unknown, until somebody says what became of it. A second decision about a call is 409. ${replyComesAfterIt}`,
      ...decisionDocs,
    },
  };
}

const rerunBody: JsonBody = { kind: 'json', optional: true, schema: rerunSchema, opaque: ['/input'] };

function rerunRoute(runs: RunCatalogue, base: string): Route {
  return {
    method: 'POST',
    url: '/runs/:id/rerun',
    body: rerunBody,
    async handle(request) {
      const { version } = request.body as { readonly version?: string };
      const key = idempotencyKeyOf(request.headers);
      const started = await runs.rerun({ ...askedRun(request), key, version, input: memberText(request, '/input') });
      noteRun(request, started.run);
      return startedReply(started, base);
    },
    ...catalogueChange,
    docs: {
      tag: 'runs',
      operationId: 'rerunRun',
      summary: 'Start a new run like this one',
      description:
        'Without a body with the same input and version. The new run belongs to the caller, and everybody involved in this one is involved in it. For those who may run the automation, of outermost runs alone. A version that a new run would not take is for those who may write the workflow. The input is judged again.',
      pathParameters: runParameter,
      requestHeaders: [runKeyHeader],
      success: { status: 201, description: 'The new run.', schema: runSchema, headers: startedHeaders },
      errors: [
        'quota-reached',
        ...changeErrors,
        'run-has-parent',
        'version-superseded',
        'delegation-lost',
        'workflow-not-found',
        'idempotency-key-reused',
      ],
      statuses: { 'workflow-not-found': 409 },
      example: { path: { id: exampleRun.id }, request: { input: exampleRun.input }, reply: exampleStarted },
    },
  };
}
