import type { Access } from '#access/access.ts';
import type { Authentication } from '#access/authentication.ts';
import { isOperation, type Operation } from '#access/operations.ts';
import type { Principal } from '#access/principal.ts';
import { CallerLeft } from '#base/caller-left.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import type { RateLimit } from '#calls/rate-limit.ts';
import { refuseCrossSite } from './admission/cross-site.ts';
import type { OwnNames } from './admission/own-names.ts';
import type { Pressure } from './admission/pressure.ts';
import { checkDeclaredLength, checkMediaType } from './admission/request-checks.ts';
import { breakOffReply } from './connections/break-off.ts';
import { answerError, noteFailure } from './error-replies.ts';
import { idempotentRequestOf } from './idempotency.ts';
import { writeReply } from './reply-writer.ts';
import { bodyReader, type ReadBody, readQuery } from './request-reader.ts';
import type { RequestScope } from './request-scope.ts';
import { traceDecision } from './request-span.ts';
import { accessOf, bodyMediaTypes, isOptional, type Route, type RouteReply } from './route.ts';
import type { ServedRequest } from './served-request.ts';
import { hasBody, readWhole } from './whole-body.ts';

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
    const handle = (
      request: ServedRequest,
      { value, spans, judged }: ReadBody,
      query: URLSearchParams,
    ): RouteReply | Promise<RouteReply> => {
      const { scope } = request;
      scope.record.idempotent = idempotentRequestOf(route, request);
      if (route.counted === 'admitted') count(request, options);
      if (route.body?.kind === 'stream') leaveUnread(request);
      return route.handle({
        params: request.params,
        query,
        headers: request.raw.headers,
        body: value,
        spans,
        judged,
        sourceAddress: scope.sourceAddress,
        ownOrigin: () => options.names.originOf(request.raw),
        context: scope,
        count: () => count(request, options),
        whenDraining: (callback) => scope.whenDraining(callback),
      });
    };
    const answer = (request: ServedRequest): void | Promise<void> => {
      // A whole body has arrived by now; a streamed one has its own limit between two pieces (body-time.ts).
      request.endBodyTime();
      const { query, problems } = readQuery(route, request.raw);
      const body = read(request, problems);
      const known = body instanceof Promise ? body.then((later) => handle(request, later, query)) : handle(request, body, query);
      if (known instanceof Promise) return known.then((later) => writeAnswer(later, request, options.log));
      writeAnswer(known, request, options.log);
      return undefined;
    };
    const readAndAnswer = (request: ServedRequest): void | Promise<void> => {
      if (isRefused(request)) return undefined;
      if (request.raw.headers.expect !== undefined) answerExpectation(request);
      if (route.body?.kind === 'stream') return answer(request);
      readWhole(request.raw, bodyLimitOf(route, options), (error, body) => {
        if (isRefused(request)) return;
        attempt(request, options.log, () => {
          if (error !== undefined) throw error;
          request.body = body;
          return answer(request);
        });
      });
      return undefined;
    };
    return (request) => {
      const { span } = request.scope;
      const work = (): void | Promise<void> => admit(route, request, options);
      attempt(request, options.log, () => {
        const admitted = span === undefined ? work() : traceDecision(span, work);
        return admitted instanceof Promise ? admitted.then(() => readAndAnswer(request)) : readAndAnswer(request);
      });
    };
  };
}

/** Runs a step of a request, and answers the caller with the error that the step throws or rejects with. */
function attempt(request: ServedRequest, log: Log, step: () => void | Promise<void>): void {
  const failed = (thrown: unknown): void => answerError(thrown, request, log);
  try {
    const taken = step();
    if (taken instanceof Promise) taken.catch(failed);
  } catch (thrown) {
    failed(thrown);
  }
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

/** Throws where the answer cannot be written. */
function writeAnswer(answer: RouteReply, request: ServedRequest, log: Log): void {
  const { response } = request;
  writeReply(request, answer)?.then(
    () => response.end(),
    (failure: unknown) => abortReply(failure, request, log),
  );
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

/** Returns a promise only where the credentials are not in the cache of verified ones. */
function admit(route: Route, request: ServedRequest, options: RouteRunnerOptions): void | Promise<void> {
  const isOpen = accessOf(route) === 'everyone';
  const asksSession = !isOpen && route.onlyEnds !== true;
  refuseCrossSite(request.raw, options.names, asksSession ? options.access.cookieName : undefined);
  if (isOpen) {
    admitCaller(route, request, options);
    return undefined;
  }
  const { authorization, cookie } = request.raw.headers;
  const { sourceAddress, requestId } = request.scope;
  const authentication = options.access.authenticate({
    authorization,
    cookie,
    isOwnHost: () => options.names.isHost(request.raw),
    sourceAddress,
    requestId,
  });
  if (authentication instanceof Promise) return authentication.then((verified) => admitCaller(route, request, options, verified));
  admitCaller(route, request, options, authentication);
  return undefined;
}

function admitCaller(route: Route, request: ServedRequest, options: RouteRunnerOptions, caller?: Authentication): void {
  if (caller !== undefined) {
    request.caller = caller;
    request.scope.record.principal = caller.principal;
    refuseCaller(route, request, options);
  }
  route.precondition?.(request.params, request.scope.record.principal);
  if (route.body !== undefined) {
    checkDeclaredLength(request.raw, bodyLimitOf(route, options));
    if (!isOptional(route.body) || hasBody(request.raw)) checkMediaType(request.raw, bodyMediaTypes(route.body));
  }
  if (route.sheddable) options.pressure.refuse();
  if (route.holdsPlace) options.takePlace(request.scope);
}

/** Bytes; a streamed body has no limit. A body that the route does not use is read too, up to `unusedBody` bytes. */
function bodyLimitOf({ body }: Route, { server }: RouteRunnerOptions): number {
  if (body === undefined) return Math.min(unusedBody, server.requestBodyLimit);
  if (body.kind === 'stream') return Number.MAX_SAFE_INTEGER;
  return body.limit ?? server.requestBodyLimit;
}

const unusedBody = 16_384;

/** The one place where the role or the right to an operation is asked. The parts behind a route judge its object. */
function refuseCaller({ docs: { operationId } }: Route, { scope, params }: ServedRequest, { admits }: RouteRunnerOptions): void {
  if (!isOperation(operationId)) return;
  const decision = admits({ principal: scope.record.principal, operation: operationId, adapter: params['adapterId'] });
  if (!decision.allowed) throw new GatewayError('forbidden', decision.reason);
}
