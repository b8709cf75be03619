import type { Access } from '#access/access.ts';
import { type Authentication, withoutBasic } from '#access/authentication.ts';
import type { Principal } from '#access/principal.ts';
import type { Operation } from '#access/rights/operations.ts';
import { CallerLeft } from '#base/caller-left.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { LimitReached } from '#base/limits.ts';
import type { Log } from '#base/log.ts';
import type { RateLimit } from '#calls/rate-limit.ts';
import { refuseCrossSite } from './admission/cross-site.ts';
import type { OwnNames } from './admission/own-names.ts';
import type { Pressure } from './admission/pressure.ts';
import { checkDeclaredLength, checkMediaType } from './admission/request-checks.ts';
import { hasBody, readWhole } from './body-arrival.ts';
import { breakOffReply } from './connections/break-off.ts';
import { idempotentRequestOf } from './idempotency.ts';
import { answerError, noteFailure } from './problem.ts';
import { writeReply } from './reply-writer.ts';
import { type BodyReader, bodyReader, type ReadBody, readQuery } from './request-reader.ts';
import type { RequestScope, ServedRequest } from './request-scope.ts';
import { traceDecision } from './request-span.ts';
import { accessOf, isOfApi, type Route, type RouteReply } from './route.ts';
import { bodyMediaTypes, isOptional } from './route-body.ts';

export interface RouteRunnerOptions {
  readonly access: Access;
  readonly admits: Admit;
  readonly clock: Clock;
  readonly log: Log;
  readonly pressure: Pressure;
  readonly names: OwnNames;
  /** Takes a place for the request; throws 503 `overloaded` where all places are held. */
  readonly takePlace: (scope: RequestScope) => void;
  /** Read for each call, since a reload replaces it; undefined: no limit. */
  readonly rateLimit: () => RateLimit | undefined;
  readonly limitReached: LimitReached;
  readonly server: { readonly requestBodyLimit: number };
}

/**
 * Whether a role or a right lets a caller use an operation, as far as it is known before the body is read. `reason` is for the caller.
 * `adapter`: the adapter instance in the path.
 */
export type Admit = (asked: {
  readonly principal: Principal;
  readonly operation: Operation;
  readonly adapter: string | undefined;
}) => { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

/**
 * Serves the requests of a route. The order of the checks is fixed: site, authentication, role, precondition, size and media type, overload.
 * Only then the body is read, and `Route.counted` says when the request counts against the rate limit.
 */
export function createRouteRunner(options: RouteRunnerOptions): (route: Route) => (request: ServedRequest) => void {
  return (route) => {
    const read = bodyReader(route);
    return (request) => {
      serve(route, request, { ...options, read }).catch((thrown: unknown) => {
        if (thrown instanceof GatewayError && thrown.code === 'body-too-large') options.limitReached('request-body');
        answerError(thrown, request, options.log);
      });
    };
  };
}

/** Rejects with the error that the caller is to be answered with. */
async function serve(
  route: Route,
  request: ServedRequest,
  options: RouteRunnerOptions & { readonly read: BodyReader },
): Promise<void> {
  const { raw, scope } = request;
  const decide = (): Promise<void> => admit(route, request, options);
  await (scope.span === undefined ? decide() : traceDecision(scope.span, decide));
  if (isRefused(request)) return;
  if (raw.headers.expect !== undefined) answerExpectation(request);
  if (route.body?.kind !== 'stream') {
    try {
      request.body = await readWhole(raw, bodyLimitOf(route, options));
    } catch (error) {
      if (!isRefused(request)) throw error;
    }
    if (isRefused(request)) return;
  }
  // A whole body has arrived by now; a streamed one has its own limit between two pieces (body-arrival.ts).
  request.endBodyTime();
  const { query, problems } = readQuery(route, raw);
  const body = await options.read(request, problems);
  // The caller left before: its request has its record, and does nothing.
  if (scope.record.hasEnded) return;
  await write(await handle(route, request, { body, query, options }), request, options.log);
}

async function handle(
  route: Route,
  request: ServedRequest,
  {
    body: { value, spans },
    query,
    options,
  }: { readonly body: ReadBody; readonly query: unknown; readonly options: RouteRunnerOptions },
): Promise<RouteReply> {
  const { scope } = request;
  scope.record.idempotent = idempotentRequestOf(route, request);
  if (route.counted === 'valid') count(request, options);
  if (route.body?.kind === 'stream') leaveUnread(request);
  return await route.handle({
    params: request.params,
    query,
    headers: request.raw.headers,
    body: value,
    spans,
    sourceAddress: scope.sourceAddress,
    record: scope.record,
    principal: scope.record.principal,
    ownOrigin: () => options.names.originOf(request.raw),
    context: scope,
    watchCaller: () => watchCaller(request, options),
    reached: options.limitReached,
    whenDraining: (callback) => scope.whenDraining(callback),
  });
}

/** True where the request was refused on the bare socket because it did not arrive in full: the rest of it comes too late. */
function isRefused({ scope }: ServedRequest): boolean {
  return scope.record.failure !== undefined;
}

/** Ignores an expectation of HTTP/1.0, as RFC 9110 10.1.1 requires, and any expectation but `100-continue`. */
function answerExpectation({ raw, response }: ServedRequest): void {
  const isAsked = raw.headers.expect?.toLowerCase() === '100-continue' && raw.httpVersion === '1.1';
  if (isAsked && hasBody(raw)) response.writeContinue();
}

/** Rejects where the answer cannot be begun. */
async function write(answer: RouteReply, request: ServedRequest, log: Log): Promise<void> {
  const rest = writeReply(request, answer);
  if (rest === undefined) return;
  try {
    await rest;
    request.response.end();
  } catch (failure) {
    abortReply(failure, request, log);
  }
}

/** The status line has been sent: only a reset connection can still show that the reply is not complete. */
function abortReply(failure: unknown, { scope, response }: ServedRequest, log: Log): void {
  // A caller that has left is no failure of the gateway.
  if (!response.destroyed && !(failure instanceof CallerLeft)) noteFailure(failure, scope, log);
  breakOffReply(response);
}

/** Closes the connection where a streamed body is answered before its end: the rest of the body is no next request. */
function leaveUnread({ raw, response }: ServedRequest): void {
  response.setHeader('Connection', 'close');
  raw.once('end', () => {
    if (!response.headersSent) response.removeHeader('Connection');
  });
}

function count({ caller }: ServedRequest, { rateLimit }: RouteRunnerOptions): void {
  if (caller !== undefined) rateLimit()?.count(caller.principal);
}

function watchCaller(request: ServedRequest, { access }: RouteRunnerOptions): () => Promise<boolean> {
  const { caller, scope } = request;
  if (caller === undefined) return async () => true;
  const { sourceAddress, requestId } = scope;
  const { authorization, cookie } = request.raw.headers;
  const rights = access.rightsOf(caller.principal);
  let last = caller;
  return async () => {
    const now = await access.authenticateAgain(last, { authorization, cookie, sourceAddress, requestId });
    if (now === last) return true;
    if (now === undefined || access.rightsOf(now.principal) !== rights) return false;
    last = now;
    return true;
  };
}

async function admit(route: Route, request: ServedRequest, options: RouteRunnerOptions): Promise<void> {
  const { raw, scope } = request;
  const { access, names, pressure } = options;
  const isOpen = accessOf(route) === 'everyone';
  const asksSession = !isOpen && route.onlyEnds !== true;
  refuseCrossSite(raw, names, asksSession ? access.cookieName : undefined);
  if (!isOpen) {
    request.caller = await authenticate(route, request, options);
    scope.record.principal = request.caller.principal;
    refuseCaller(route, request, options);
  }
  route.precondition?.(request.params, scope.record.principal);
  if (route.body !== undefined) {
    checkDeclaredLength(raw, bodyLimitOf(route, options));
    if (!isOptional(route.body) || hasBody(raw)) checkMediaType(raw, bodyMediaTypes(route.body));
  }
  if (route.sheddable) pressure.refuse();
  if (route.holdsPlace) options.takePlace(scope);
}

async function authenticate(
  route: Route,
  { raw, scope }: ServedRequest,
  { access, names }: RouteRunnerOptions,
): Promise<Authentication> {
  const { authorization, cookie } = raw.headers;
  const { sourceAddress, requestId } = scope;
  const isOwnHost = (): boolean => names.isHost(raw);
  try {
    return await access.authenticate({ authorization, cookie, isOwnHost, sourceAddress, requestId });
  } catch (error) {
    throw challenged(error, route, () => names.originOf(raw));
  }
}

/** The error with the challenge of the route, which has no Basic: clients of the protocol read one challenge alone. */
function challenged(error: unknown, { challenge }: Route, origin: () => string | undefined): unknown {
  if (challenge === undefined || !(error instanceof GatewayError) || error.status !== 401) return error;
  const { code, message, headers } = error;
  const own = [withoutBasic(headers['WWW-Authenticate'] ?? ''), challenge(origin())].filter((part) => part !== '');
  return new GatewayError(code, message, { cause: error, headers: { ...headers, 'WWW-Authenticate': own.join(', ') } });
}

/** Bytes; a streamed body has no limit. A body that the route does not use is read too, up to `unusedBody` bytes. */
function bodyLimitOf({ body }: Route, { server }: RouteRunnerOptions): number {
  if (body === undefined) return Math.min(unusedBody, server.requestBodyLimit);
  if (body.kind === 'stream') return Number.MAX_SAFE_INTEGER;
  return body.limit ?? server.requestBodyLimit;
}

const unusedBody = 16_384;

/** The one place where the role or the right to an operation is asked. The parts behind a route judge its object. */
function refuseCaller(route: Route, { scope, params }: ServedRequest, { admits }: RouteRunnerOptions): void {
  if (!isOfApi(route)) return;
  const { principal } = scope.record;
  const decision = admits({ principal, operation: route.operationId, adapter: params['adapterId'] });
  if (!decision.allowed) throw new GatewayError('forbidden', decision.reason);
}
