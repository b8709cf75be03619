import type { Principal } from '#access/principal.ts';
import type { CustomRoleOptions } from '#access/rights/access-options.ts';
import type { KnownAdapters } from '#adapters/known-adapters.ts';
import { type ErrorCode, upstreamErrors } from '#base/error-codes.ts';
import { Type } from '#base/json-schema.ts';
import type { CallPath } from '#calls/call-path.ts';
import { decideEntry } from '#calls/decide-entry.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { restActionBody, restCallBody, restQueryBody, restRequestBody } from '#relay/call-schemas.ts';
import {
  checkParams,
  type OrchestratorParams,
  type PassedOnHeaders,
  passedOnHeaders,
  type RequestParams,
} from '#relay/orchestrator-request.ts';
import type { CallOperation, Checked } from '#relay/relayed-call.ts';
import { judgeRestCall } from '#relay/rest-call-request.ts';
import { renderAnswer, renderInstances, renderResponse, renderResult } from '../../rendering/call-renderings.ts';
import { renderAnswered } from '../../rendering/rendered-call.ts';
import { type ApiRoute, type RouteRequest, route } from '../../route.ts';
import { type Judgement, jsonBody } from '../../route-body.ts';
import { relayedCall } from '../route-traits.ts';
import { relayPatterns } from './relay-patterns.ts';

interface RelayRoutesOptions {
  /** Read for each request, since a reload replaces them. */
  readonly adapters: () => KnownAdapters;
  /** The operator's own roles. Read for each request. */
  readonly customRoles: () => readonly CustomRoleOptions[];
  readonly calls: CallPath;
}

/** The four routes that relay a call. Each makes a `Call` of its request and hands it to the call path. */
export function relayRoutes({ calls, ...known }: RelayRoutesOptions): readonly ApiRoute[] {
  return [
    restCall.serve(({ body, spans, context }) => {
      const request = { ...body, body: spans.get('/body') };
      return renderAnswered(calls.perform({ operation: 'restCall', request }, context), (reply) =>
        renderResponse(reply, request.responseHeaders),
      );
    }),
    restAction.serve(
      (request) => {
        const body = request.spans.get('/body') ?? Buffer.from('{}');
        const call = { operation: 'restAction', ...addressOf(request), passedOn: pickPassedOn(request), body } as const;
        return renderAnswered(calls.perform(call, request.context), renderResult);
      },
      knownAdapter('restAction', known),
    ),
    restQuery.serve(
      (request) => {
        const call = { operation: 'restQuery', ...addressOf(request) } as const;
        return renderAnswered(calls.perform(call, request.context), renderInstances);
      },
      knownAdapter('restQuery', known),
    ),
    restRequest.serve(
      (request) => {
        const body = request.spans.get('/body');
        const call = { operation: 'restRequest', ...addressOf(request), passedOn: pickPassedOn(request), body } as const;
        return renderAnswered(calls.perform(call, request.context), renderAnswer);
      },
      knownAdapter('restRequest', known),
    ),
  ];
}

/**
 * Answers 404 before the body is read, where the adapter instance does not exist. One for which the caller has neither role nor right to the
 * operation is answered in the same way.
 */
export function knownAdapter(
  operation: CallOperation,
  { adapters, customRoles }: Pick<RelayRoutesOptions, 'adapters' | 'customRoles'>,
): Pick<ApiRoute, 'precondition'> {
  return {
    precondition({ adapterId = '' }, principal: Principal) {
      const asked = { principal, operation, entrance: 'http', customRoles: customRoles() } as const;
      adapters().find(adapterId, (adapter) => decideEntry({ ...asked, adapter }).allowed);
    },
  };
}

function addressOf<Body>({ params, body }: RouteRequest<{ readonly adapterId: string }, unknown, Body>) {
  return { adapter: params.adapterId, params: body };
}

export function pickPassedOn({ headers }: Pick<RouteRequest, 'headers'>): PassedOnHeaders {
  const found: Record<string, string> = {};
  for (const name of passedOnHeaders) {
    const value = headers[name];
    if (typeof value === 'string') found[name] = value;
  }
  return found;
}

export function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** Makes the checked `params` of a body. */
export function judgeParams<Params extends OrchestratorParams>(
  body: unknown,
  spans: ReadonlyMap<string, Buffer>,
): Judgement<Checked<Params>> {
  const { problems, params } = checkParams<Params>(asObject(asObject(body)['params']), spans.get('/body'));
  return { problems, judged: params };
}

const replyHeaders = {
  'X-Upstream-Status': 'Status of the upstream’s reply.',
  'X-Upstream-Content-Type': 'Media type of the upstream’s reply, where it has one.',
  'X-Upstream-ETag': 'ETag of the upstream’s reply, where it has one.',
  'X-Upstream-Location': 'Location of the upstream’s reply, where it has one.',
  'X-Upstream-Body-Encoding': '`base64` where the body is not text.',
} as const;
/** For replies to requests that may have an Idempotency-Key. */
const replayableHeaders = {
  ...replyHeaders,
  'Idempotency-Replayed': '`true`: the reply to an earlier request with this Idempotency-Key.',
};

const approvalErrors: readonly ErrorCode[] = [
  'approval-required',
  'approval-mismatch',
  'approval-used',
  'approval-rejected',
  'approval-expired',
  'newer-version-needed',
];
const orchestratorErrors: readonly ErrorCode[] = [
  'path-denied',
  'identity-unmapped',
  ...approvalErrors,
  'adapter-not-found',
  ...upstreamErrors,
  'upstream-error',
  'redirect-refused',
  'adapter-busy',
  'adapter-unavailable',
  'credentials-refused',
  'audit-unavailable',
];

const waiting = {
  Prefer: '`wait=SECONDS`: a shorter time limit than the configured total (RFC 7240); a longer one has no effect.',
  traceparent: 'W3C Trace Context: the gateway continues the trace and passes it on.',
};
const idempotencyKey = {
  'Idempotency-Key':
    '1 to 255 visible ASCII characters. For 24 hours a request with the same key, caller, route and payload gets the reply of the first one, and the gateway sends nothing again.',
};
const approving = {
  Approval: 'Id of the approval of this call. It lets the call pass once.',
  'X-Reason': 'Why you make the call; approvers see it.',
};
/** Request headers of every call to an orchestrator that may change something. */
export const passedOnDocs = {
  ...waiting,
  'If-Match': 'Passed on to the orchestrator.',
  'If-Unmodified-Since': 'Passed on to the orchestrator.',
  'X-Cisco-NSO-Commit-Params': 'Passed on to the orchestrator.',
};
export const adapterParams = { adapterId: 'Name of the adapter instance, URL-encoded, such as `Local%20NSO`.' };

const device = '/restconf/data/tailf-ncs:devices/device=ce0';
const yangJson = 'application/yang-data+json';
const path = { adapterId: 'Local NSO' };
const toOrchestrator = { ...relayedCall, tag: 'relay', params: adapterParams } as const;

const restCall = route(`POST ${relayPatterns.restCall}`, {
  ...relayedCall,
  operation: 'restCall',
  tag: 'relay',
  operationId: 'restCall',
  summary: 'Send a REST call and return its reply',
  description: [
    'Any status of the upstream is a success: the gateway replies 200 and has that status in `X-Upstream-Status`. Only a missing HTTP reply is an error.',
    'The outbound policy decides on every address before the gateway connects to it; by default only public addresses are allowed. The gateway follows up to `outbound.redirects` redirects (default five). Where a redirect changes the origin, it drops `user`, `password` and all your headers but `Accept…`, `Content-Type`, `User-Agent` and `traceparent`. A call is never sent twice.',
    '`body` is sent with any verb, as JSON unless `headers` has another Content-Type. A `+json` type is sent like JSON, `application/x-www-form-urlencoded` from a flat object, and an XML type by the mapping of the action route. A reply body that is not text is returned as base64, with `X-Upstream-Body-Encoding: base64`.',
  ].join('\n\n'),
  requestHeaders: { ...waiting, ...idempotencyKey, ...approving },
  idempotency: { headers: [] },
  body: jsonBody(restCallBody, {
    opaque: ['/body'],
    judge(body) {
      const { problems, request } = judgeRestCall(asObject(body));
      return { problems, judged: request };
    },
  }),
  reply: {
    description: 'The reply of the upstream, with any status.',
    schema: namedObject('RestCallReply', { response: Type.String() }),
    headers: { ...replayableHeaders, 'X-Upstream-Uri': 'The final address after redirects.' },
  },
  errors: [
    'destination-denied',
    ...approvalErrors,
    ...upstreamErrors,
    'too-many-redirects',
    'redirect-refused',
    'outcome-unknown',
    'audit-unavailable',
  ],
  example: {
    request: { uri: 'https://inventory.example.net/api/sites/7', verb: 'GET', responseHeaders: false },
    reply: { response: '{"id":7,"name":"Oslo","serial":18446744073709551615}' },
  },
});

const restAction = route(`POST ${relayPatterns.restAction}`, {
  ...toOrchestrator,
  operation: 'restAction',
  operationId: 'restAction',
  summary: 'Send a REST action (POST) to the orchestrator; it is never sent twice',
  description: [
    'The gateway appends `params.path` to the address of the adapter instance and sends it unchanged, never decoded or normalised. For the kinds nso and restconf an empty `body` (`{}`) sends no message body.',
    'For an XML `contentType` the object is written as XML: one root, attributes as `@name`, text as `#text`, an array as repeated elements. `{ "$xml": "<…/>" }` is sent unchanged.',
    'A status of 400 or above becomes 502 `upstream-error` with the message of the orchestrator. Where the action left and got no reply, the error is `outcome-unknown`: the action may have happened.',
  ].join('\n\n'),
  requestHeaders: { ...idempotencyKey, ...approving, ...passedOnDocs },
  idempotency: { headers: passedOnHeaders },
  body: jsonBody(restActionBody, { opaque: ['/body'], judge: judgeParams<OrchestratorParams> }),
  reply: {
    description: 'One element: the body of the reply as text, or its status code where it has no body.',
    schema: Type.Array(namedObject('RestActionResult', { result: Type.String() }), { title: 'RestActionReply' }),
    headers: replayableHeaders,
  },
  errors: [...orchestratorErrors, 'outcome-unknown'],
  example: {
    path,
    request: { params: { path: `${device}/sync-from`, accept: yangJson }, body: {} },
    reply: [{ result: '{"tailf-ncs:output":{"result":true}}' }],
  },
});

const restQuery = route(`POST ${relayPatterns.restQuery}`, {
  ...toOrchestrator,
  operation: 'restQuery',
  operationId: 'restQuery',
  summary: 'Send a REST query (GET) to the orchestrator',
  description: [
    'Each instance in the reply becomes one element: the entries of a list, or a single object. Strings stay unchanged; any other value becomes its exact JSON text, so that large numbers keep their digits. XML and other text is one instance, with one property named after the root element, or `content`.',
    'A missing resource is an error (502 `upstream-error` with `upstream.status` 404); an empty resource gives an empty `result`. The gateway repeats a query after a failed connection.',
  ].join('\n\n'),
  requestHeaders: { ...waiting, ...approving },
  body: jsonBody(restQueryBody, { judge: judgeParams<OrchestratorParams> }),
  reply: {
    description: 'One element for each instance in the reply.',
    schema: namedObject('RestQueryReply', {
      result: Type.Array(
        namedObject('RestQueryInstance', { instance_data: { type: 'object', additionalProperties: { type: 'string' } } }),
      ),
    }),
    headers: replyHeaders,
  },
  errors: orchestratorErrors,
  example: {
    path,
    request: { params: { path: `${device}?fields=name;address;port`, accept: yangJson } },
    reply: { result: [{ instance_data: { name: 'ce0', address: '10.0.0.10', port: '10022' } }] },
  },
});

const restRequest = route(`POST ${relayPatterns.restRequest}`, {
  ...toOrchestrator,
  operation: 'restRequest',
  operationId: 'restRequest',
  summary: 'Send any request to the orchestrator; an error status is a success',
  description:
    'For PATCH, PUT and DELETE of configuration, which the two routes above cannot send. Path, media types and `body` follow the rules of the action route; but an empty `body` (`{}`) is sent as it is, except with POST to the kinds nso and restconf. Any status of the orchestrator is a success, except a redirect, which is refused.',
  requestHeaders: { ...idempotencyKey, ...approving, ...passedOnDocs },
  idempotency: { headers: passedOnHeaders },
  body: jsonBody(restRequestBody, { opaque: ['/body'], judge: judgeParams<RequestParams> }),
  reply: {
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
    headers: replayableHeaders,
  },
  errors: [...orchestratorErrors.filter((code) => code !== 'upstream-error'), 'outcome-unknown'],
  example: {
    path,
    request: {
      params: { method: 'PATCH', path: device, accept: yangJson },
      body: { 'tailf-ncs:device': [{ name: 'ce0', description: 'edge router' }] },
    },
    reply: { statusCode: 204, headers: { date: 'Mon, 02 Mar 2026 08:00:00 GMT' }, body: '' },
  },
});
