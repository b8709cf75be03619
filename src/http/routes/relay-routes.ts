import type { CustomRoleOptions } from '#access/access-options.ts';
import type { Principal } from '#access/principal.ts';
import type { KnownAdapters } from '#adapters/known-adapters.ts';
import { type ErrorCode, farSideErrors } from '#base/error-codes.ts';
import { Type } from '#base/json-schema.ts';
import type { CallPath } from '#calls/call-path.ts';
import { decideEntry } from '#calls/decide-entry.ts';
import { renderAnswered } from '#http/rendering/call-answer.ts';
import { renderAnswer, renderInstances, renderResponse, renderResult } from '#http/rendering/call-renderings.ts';
import type { Judgement, Route, RouteRequest } from '#http/route.ts';
import { namedObject } from '#json/closed-object.ts';
import type { Checked } from '#relay/checked.ts';
import {
  checkParams,
  type OrchestratorParams,
  type PassedOnHeaders,
  passedOnHeaders,
  type RequestParams,
} from '#relay/orchestrator-request.ts';
import type { CallOperation } from '#relay/relayed-call.ts';
import { type CheckedRestCall, judgeRestCall } from '#relay/rest-call-request.ts';
import { relayDocs } from './relay-docs.ts';
import { relayPatterns } from './relay-patterns.ts';
import { restActionBody, restCallBody, restQueryBody, restRequestBody } from './relay-schemas.ts';
import { relayedCall } from './route-traits.ts';

interface RelayRoutesOptions {
  /** Read for each request, since a reload replaces them. */
  readonly adapters: () => KnownAdapters;
  /** The operator's own roles. Read for each request. */
  readonly customRoles: () => readonly CustomRoleOptions[];
  readonly calls: CallPath;
}

const replyHeaders = {
  'X-Upstream-Status': 'Status of the far side’s reply.',
  'X-Upstream-Content-Type': 'Media type of the far side’s reply, where it has one.',
  'X-Upstream-ETag': 'ETag of the far side’s reply, where it has one.',
  'X-Upstream-Location': 'Location of the far side’s reply, where it has one.',
  'X-Upstream-Body-Encoding': '`base64` where the body is not text.',
} as const;

const approvalErrors: readonly ErrorCode[] = [
  'approval-required',
  'approval-mismatch',
  'approval-used',
  'approval-rejected',
  'approval-expired',
];

const orchestratorErrors: readonly ErrorCode[] = [
  'path-denied',
  ...approvalErrors,
  'adapter-not-found',
  ...farSideErrors,
  'upstream-error',
  'redirect-refused',
  'adapter-busy',
  'adapter-unavailable',
];

const preferHeader = {
  name: 'Prefer',
  description: '`wait=SECONDS`: a shorter time limit than the configured total (RFC 7240); a longer one has no effect.',
};
const traceHeader = { name: 'traceparent', description: 'W3C Trace Context: the gateway continues the trace and passes it on.' };
const idempotencyHeader = {
  name: 'Idempotency-Key',
  description:
    '1 to 255 visible ASCII characters. For 24 hours a request with the same key, caller, route and payload gets the reply of the first one, and the gateway sends nothing again.',
};
const approvalHeaders = [
  { name: 'Approval', description: 'Id of the approval of this call. It lets the call pass once.' },
  { name: 'X-Reason', description: 'Why you make the call; approvers see it.' },
];
/** For replies to requests that may have an Idempotency-Key. */
const replayedHeader = { 'Idempotency-Replayed': '`true`: the reply to an earlier request with this Idempotency-Key.' };
/** Request headers of every call to an orchestrator that may change something. */
export const passedOnDocs = [
  preferHeader,
  traceHeader,
  { name: 'If-Match', description: 'Passed on to the orchestrator.' },
  { name: 'If-Unmodified-Since', description: 'Passed on to the orchestrator.' },
  { name: 'X-Cisco-NSO-Commit-Params', description: 'Passed on to the orchestrator.' },
];
const orchestratorHeaders = [idempotencyHeader, ...approvalHeaders, ...passedOnDocs];

/** The four routes that relay a call. Each makes a `Call` of its request and hands it to the call path. */
export function relayRoutes(options: RelayRoutesOptions): readonly Route[] {
  return [restCallRoute(options), restActionRoute(options), restQueryRoute(options), restRequestRoute(options)];
}

type PathParameters = Readonly<Record<string, string>>;

/** The members that all relay routes have in common. */
function relayRoute(operation: CallOperation) {
  return {
    ...relayedCall,
    method: 'POST' as const,
    url: relayPatterns[operation],
    operation,
  };
}

/**
 * Answers 404 before the body is read, where the adapter instance does not exist. One for which the caller has neither role nor right to the
 * operation is answered in the same way.
 */
export function knownAdapter(
  operation: CallOperation,
  { adapters, customRoles }: Pick<RelayRoutesOptions, 'adapters' | 'customRoles'>,
): { readonly precondition: (params: PathParameters, principal: Principal) => void } {
  return {
    precondition(params, principal) {
      const asked = { principal, operation, entrance: 'http', customRoles: customRoles() } as const;
      adapters().find(adapterIn(params), (adapter) => decideEntry({ ...asked, adapter }).allowed);
    },
  };
}

export function adapterIn(params: PathParameters): string {
  return params['adapterId'] ?? '';
}

export const pathParameters = { adapterId: 'Name of the adapter instance, URL-encoded, such as `Local%20NSO`.' };

function restCallRoute(options: RelayRoutesOptions): Route {
  return {
    ...relayRoute('restCall'),
    idempotency: { headers: [] },
    body: { kind: 'json', schema: restCallBody, opaque: ['/body'], judge: judgeRestCallBody },
    handle: ({ spans, judged, context }) => {
      const request = { ...(judged as CheckedRestCall), body: spans.get('/body') };
      const answering = options.calls.perform({ operation: 'restCall', request }, context);
      return renderAnswered(answering, (reply) => renderResponse(reply, request.responseHeaders));
    },
    docs: {
      tag: 'relay',
      operationId: 'restCall',
      ...relayDocs.restCall,
      summary: 'Send a REST call and return its reply',
      requestHeaders: [preferHeader, traceHeader, idempotencyHeader, ...approvalHeaders],
      success: {
        status: 200,
        description: 'The reply of the far side, with any status.',
        schema: namedObject('RestCallReply', { response: Type.String() }),
        headers: { ...replyHeaders, ...replayedHeader, 'X-Upstream-Uri': 'The final address after redirects.' },
      },
      errors: [
        'destination-denied',
        ...approvalErrors,
        ...farSideErrors,
        'too-many-redirects',
        'redirect-refused',
        'outcome-unknown',
        'audit-unavailable',
      ],
    },
  };
}

function restActionRoute(options: RelayRoutesOptions): Route {
  return {
    ...relayRoute('restAction'),
    ...knownAdapter('restAction', options),
    idempotency: { headers: passedOnHeaders },
    body: { kind: 'json', schema: restActionBody, opaque: ['/body'], judge: judgeOrchestratorBody },
    handle: (request) => {
      const body = request.spans.get('/body') ?? Buffer.from('{}');
      const call = { ...toOrchestrator(request), operation: 'restAction', passedOn: passedOn(request), body } as const;
      return renderAnswered(options.calls.perform(call, request.context), renderResult);
    },
    docs: {
      tag: 'relay',
      operationId: 'restAction',
      ...relayDocs.restAction,
      summary: 'Send a REST action (POST) to the orchestrator; it is never sent twice',
      pathParameters,
      requestHeaders: orchestratorHeaders,
      success: {
        status: 200,
        description: 'One element: the body of the reply as text, or its status code where it has no body.',
        schema: Type.Array(namedObject('RestActionResult', { result: Type.String() }), { title: 'RestActionReply' }),
        headers: { ...replyHeaders, ...replayedHeader },
      },
      errors: [...orchestratorErrors, 'outcome-unknown', 'audit-unavailable'],
    },
  };
}

function restQueryRoute(options: RelayRoutesOptions): Route {
  return {
    ...relayRoute('restQuery'),
    ...knownAdapter('restQuery', options),
    body: { kind: 'json', schema: restQueryBody, judge: judgeOrchestratorBody },
    handle: (request) => {
      const call = { ...toOrchestrator(request), operation: 'restQuery' } as const;
      return renderAnswered(options.calls.perform(call, request.context), renderInstances);
    },
    docs: {
      tag: 'relay',
      operationId: 'restQuery',
      ...relayDocs.restQuery,
      summary: 'Send a REST query (GET) to the orchestrator',
      pathParameters,
      requestHeaders: [preferHeader, traceHeader, ...approvalHeaders],
      success: {
        status: 200,
        description: 'One element for each instance in the reply.',
        schema: namedObject('RestQueryReply', {
          result: Type.Array(
            namedObject('RestQueryInstance', { instance_data: { type: 'object', additionalProperties: { type: 'string' } } }),
          ),
        }),
        headers: replyHeaders,
      },
      errors: [...orchestratorErrors, 'audit-unavailable'],
    },
  };
}

function restRequestRoute(options: RelayRoutesOptions): Route {
  return {
    ...relayRoute('restRequest'),
    ...knownAdapter('restRequest', options),
    idempotency: { headers: passedOnHeaders },
    body: { kind: 'json', schema: restRequestBody, opaque: ['/body'], judge: judgeOrchestratorBody },
    handle: (request) => {
      const body = request.spans.get('/body');
      const call = {
        ...toOrchestrator<RequestParams>(request),
        operation: 'restRequest',
        passedOn: passedOn(request),
        body,
      } as const;
      return renderAnswered(options.calls.perform(call, request.context), renderAnswer);
    },
    docs: {
      tag: 'relay',
      operationId: 'restRequest',
      ...relayDocs.restRequest,
      summary: 'Send any request to the orchestrator; an error status is a success',
      pathParameters,
      requestHeaders: orchestratorHeaders,
      success: {
        status: 200,
        description: 'The reply of the orchestrator, with any status.',
        schema: namedObject('RestRequestReply', {
          statusCode: Type.Integer(),
          headers: Type.Object(
            {},
            { additionalProperties: true, description: 'Names in lower case; values are strings, `set-cookie` is an array.' },
          ),
          body: Type.String(),
          bodyEncoding: Type.Optional(Type.Literal('base64')),
        }),
        headers: { ...replyHeaders, ...replayedHeader },
      },
      errors: [...orchestratorErrors.filter((code) => code !== 'upstream-error'), 'outcome-unknown', 'audit-unavailable'],
    },
  };
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function judgeRestCallBody(body: unknown): Judgement {
  const { problems, request } = judgeRestCall(asObject(body));
  return { problems, judged: request };
}

export function judgeOrchestratorBody(body: unknown, spans: ReadonlyMap<string, Buffer>): Judgement {
  const { problems, params } = checkParams(asObject(asObject(body)['params']), spans.get('/body'));
  return { problems, judged: params };
}

/** What `judgeOrchestratorBody` checked; the schema of the route holds its members. */
export function paramsOf<P extends OrchestratorParams>({ judged }: RouteRequest): Checked<P> {
  return judged as Checked<P>;
}

function toOrchestrator<P extends OrchestratorParams>(
  request: RouteRequest,
): { readonly adapter: string; readonly params: Checked<P> } {
  return { adapter: adapterIn(request.params), params: paramsOf<P>(request) };
}

export function passedOn(request: RouteRequest): PassedOnHeaders {
  const found: Record<string, string> = {};
  for (const name of passedOnHeaders) {
    const value = request.headers[name];
    if (typeof value === 'string') found[name] = value;
  }
  return found;
}
