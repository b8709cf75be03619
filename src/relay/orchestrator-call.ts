import type { AdapterInstance } from '#adapters/adapter-instance.ts';
import { decidePath } from '#adapters/path-rights.ts';
import { readRestconfError } from '#adapters/restconf-errors.ts';
import { GatewayError, type RequestProblem, type UpstreamAnswer } from '#base/gateway-error.ts';
import { createProblemList, type ProblemList } from '#json/problem-list.ts';
import { type FarSideReply, headerValue, type OutboundCall } from '#outbound/outbound-call.ts';
import { isRedirect } from '#outbound/redirect.ts';
import { type CallContext, openScope } from './call-context.ts';
import { readableBody } from './readable-body.ts';
import { recorded } from './recorded.ts';
import { headersByName, type RelayReply, renderedOrLetGo, upstreamHeaders } from './relay-reply.ts';
import { pathProblem } from './relayed-path.ts';
import { contentTypeProblem, isEmptyObject, writeRequestBody } from './request-body.ts';

/** `params` of the three orchestrator routes, fit for their schemas. */
export interface OrchestratorParams {
  readonly path: string;
  readonly accept: string;
  readonly contentType?: string;
}

/** The caller's headers that are passed on to an orchestrator, by their names in lower case. */
export const passedOnHeaders = ['if-match', 'if-unmodified-since', 'x-cisco-nso-commit-params'] as const;

export type PassedOnHeaders = Readonly<Partial<Record<(typeof passedOnHeaders)[number], string>>>;

/** Problems of `params` that a schema cannot say; members of a wrong type are passed over. `body` is what goes with them, if anything. */
export function paramsProblems(params: Readonly<Record<string, unknown>>, body: Buffer | undefined): readonly RequestProblem[] {
  const { path, accept, contentType } = params;
  const list = createProblemList();
  if (typeof path === 'string') addProblem(list, 'path', pathProblem(path));
  if (typeof accept === 'string') addProblem(list, 'accept', acceptProblem(accept));
  if (typeof contentType === 'string') addProblem(list, 'contentType', sentTypeProblem(contentType, body));
  return list.problems;
}

function addProblem(list: ProblemList, name: keyof OrchestratorParams, detail: string | undefined): void {
  if (detail !== undefined) list.add(`/params/${name}`, detail);
}

function sentTypeProblem(contentType: string, body: Buffer | undefined): string | undefined {
  if (contentType === '') return 'is empty; name a media type, or leave it out';
  if (!/^[\t\x20-\x7e]+$/u.test(contentType)) return 'has a character that is not visible ASCII, space or tab';
  return body === undefined ? undefined : contentTypeProblem(contentType);
}

function acceptProblem(accept: string): string | undefined {
  if (!/^[\t\x20-\x7e]*$/u.test(accept)) return 'has a character that is not visible ASCII, space or tab';
  if (accept.trim() === '') return 'is empty; name the media type you want';
  if (/text\/event-stream/iu.test(accept))
    return 'asks for text/event-stream, which never ends; read the stream from the orchestrator itself';
  return undefined;
}

interface OrchestratorCall {
  readonly adapter: AdapterInstance;
  readonly context: CallContext;
  readonly params: OrchestratorParams;
  readonly method: OutboundCall['method'];
  readonly passedOn: PassedOnHeaders;
  readonly body?: Buffer | undefined;
  /** A query may be repeated; an action only where no byte of it left. */
  readonly retry: 'query' | 'action';
  readonly userAgent: string;
}

/**
 * One call to an orchestrator: path rights, the call, and its reply rendered by `render`. Its slot is held until the
 * scope is finished, which is when the last byte of the reply was handed on. Rejects with a GatewayError or CallerLeft.
 */
export async function orchestratorCall(call: OrchestratorCall, render: (reply: FarSideReply) => RelayReply): Promise<RelayReply> {
  const { adapter, context } = call;
  context.note({ adapter: adapter.name, verb: call.method, address: call.params.path });
  const body = messageBody(call);
  const decision = decidePath(adapter.settings, call.method === 'GET' ? 'queries' : 'actions', call.params.path);
  context.note({ rule: decision.reason });
  if (!decision.allowed) {
    throw new GatewayError(
      'path-denied',
      `The adapter instance "${adapter.name}" does not allow this path: ${decision.reason}. Ask its operator.`,
    );
  }
  const scope = openScope(context, adapter.totalLimit);
  // A reload may replace it from now on.
  const letGo = adapter.hold();
  try {
    return await recorded({ context, scope, method: call.method }, () =>
      adapter
        .perform(
          { method: call.method, path: call.params.path, headers: requestHeaders(call, body), retry: call.retry, body },
          scope,
        )
        .then((reply) => {
          context.note({ upstreamStatus: reply.status });
          return renderedOrLetGo(reply, render);
        }),
    );
  } catch (failure) {
    scope.end();
    throw failure;
  } finally {
    letGo();
  }
}

function contentType(call: OrchestratorCall): string {
  return call.params.contentType ?? call.adapter.defaultContentType(call.params.path);
}

function messageBody(call: OrchestratorCall): Buffer | undefined {
  if (call.body === undefined) return undefined;
  if (!call.adapter.kind.sendsEmptyObject && isEmptyObject(call.body)) return undefined;
  return writeRequestBody(call.body, contentType(call));
}

function requestHeaders(call: OrchestratorCall, body: Buffer | undefined): readonly string[] {
  const headers = ['Accept', call.params.accept, 'User-Agent', call.userAgent, 'traceparent', call.context.trace.traceparent];
  if (body !== undefined) headers.push('Content-Type', contentType(call));
  for (const [name, value] of Object.entries(call.passedOn)) headers.push(name, value);
  return headers;
}

/** Throws what a far side's status means for an action or a query: a redirect is never followed, 400 and above is an error. */
export function refuseErrorStatus(reply: FarSideReply): void {
  refuseRedirect(reply);
  if (reply.status < 400) return;
  const error = readRestconfError(reply);
  const said = [error?.tag, error?.message].filter((part) => part !== undefined).join(': ');
  reply.discard();
  throw new GatewayError(
    'upstream-error',
    `The orchestrator answered ${reply.status}${said === '' ? '' : `: ${said.replace(/\.$/u, '')}`}.`,
    aboutReply(reply),
  );
}

/** Redirects of an orchestrator are never followed: its credentials stay where the operator sent them. */
export function refuseRedirect(reply: FarSideReply): void {
  if (!isRedirect(reply.status)) return;
  reply.discard();
  throw new GatewayError(
    'redirect-refused',
    `The orchestrator redirects (status ${reply.status}); the gateway does not follow. Call the address it names, or have the adapter's url changed.`,
    aboutReply(reply),
  );
}

/** An error that speaks of a reply names it as a success would: in `upstream` and in the X-Upstream-* headers. */
function aboutReply(reply: FarSideReply): Pick<GatewayError, 'headers'> & { readonly upstream: UpstreamAnswer } {
  const type = headerValue(reply.headers, 'content-type');
  const { text, base64 } = readableBody(reply);
  const upstream = { status: reply.status, ...(type === undefined ? {} : { contentType: type }), body: text };
  return { upstream, headers: headersByName(upstreamHeaders(reply, base64)) };
}
