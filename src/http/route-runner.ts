import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Access } from '#access/access.ts';
import type { Authentication } from '#access/authentication.ts';
import { decide } from '#access/decide.ts';
import { CallerLeft } from '#base/caller-left.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import { noteFailure } from './error-replies.ts';
import { idempotentRequestOf } from './idempotency.ts';
import { isSheddable, type Pressure } from './pressure.ts';
import { isCounted, type RateLimit } from './rate-limit.ts';
import { writeReply } from './reply-writer.ts';
import { checkDeclaredLength, checkMediaType } from './request-checks.ts';
import { bodyReader, type ReadBody, readQuery } from './request-reader.ts';
import type { RequestScope } from './request-scope.ts';
import { traceDecision } from './request-span.ts';
import { bodyMediaType, type Route, type RouteAccess, type RouteReply } from './route.ts';
import { hasBody, readWhole } from './whole-body.ts';

export interface RouteRunnerOptions {
  readonly access: Access;
  readonly clock: Clock;
  readonly log: Log;
  /** Opens the scope of a request; throws where it is framed in a way that could be read in two. */
  readonly open: (request: FastifyRequest, reply: FastifyReply, route: Route) => void;
  readonly pressure: Pressure;
  /** Counts a request as one that is worked on; throws 503 `overloaded` where there are as many as there may be. */
  readonly takeOn: (scope: RequestScope) => void;
  /** Asked for each call, since a reload replaces it; undefined: no limit. */
  readonly rateLimit: () => RateLimit | undefined;
  readonly server: { readonly requestBodyLimit: number };
}

/**
 * Serves routes in the contract's order of checks: who, role, precondition, size and media type; only then the body, unless the
 * gateway is overloaded: reading it would be the first thing too many. A call is counted once it is known to be sound.
 */
export function createRouteRunner(options: RouteRunnerOptions): { add(app: FastifyInstance, route: Route): void } {
  return {
    add(app, route) {
      const read = bodyReader(route);
      const counted = isCounted(route);
      app.route({
        method: route.method,
        url: route.url,
        config: route.errorShape === undefined ? {} : { errorShape: route.errorShape },
        onRequest: (request, reply, done) => {
          options.open(request, reply, route);
          const { span } = request.scope;
          const work = (): void | Promise<void> => admit(route, request, options);
          const admitted = span === undefined ? work() : traceDecision(span, work);
          const goOn = (): void => {
            if (request.headers.expect !== undefined) answerExpectation(request.raw, reply.raw);
            if (route.body?.kind === 'stream') done();
            else keepBody(request, bodyLimitOf(route, options), done);
          };
          if (admitted instanceof Promise) admitted.then(goOn, done);
          else goOn();
        },
        handler: (request, reply) => {
          // What is read here is there; a streamed body has time limits of its own.
          request.endBodyTime();
          const { query, problems } = readQuery(route, request.raw);
          const handle = ({ value, spans }: ReadBody): RouteReply | Promise<RouteReply> => {
            request.scope.idempotent = idempotentRequestOf(route, request);
            if (counted) prepareCount(route, request, options.rateLimit());
            if (route.body?.kind === 'stream') leaveUnread(request, reply);
            return route.handle({
              params: request.params as Record<string, string>,
              query,
              headers: request.headers,
              body: value,
              spans,
              sourceAddress: request.scope.sourceAddress,
              context: request.scope,
            });
          };
          const body = read(request, problems);
          const answer = body instanceof Promise ? body.then(handle) : handle(body);
          // The handler is no async function: Fastify would follow its promise with one of its own.
          if (answer instanceof Promise) {
            answer.then(
              (known) => give(known, request, reply, options.log),
              (thrown: unknown) => fail(thrown, reply),
            );
          } else give(answer, request, reply, options.log);
        },
      });
    },
  };
}

/** An expectation of HTTP/1.0 is to be ignored (RFC 9110 10.1.1); those that nobody defined are, too. */
function answerExpectation(request: IncomingMessage, response: ServerResponse): void {
  const isAsked = request.headers.expect?.toLowerCase() === '100-continue' && request.httpVersion === '1.1';
  if (isAsked && hasBody(request)) response.writeContinue();
}

function keepBody(request: FastifyRequest, limit: number, done: (error?: GatewayError) => void): void {
  readWhole(request.raw, limit, (error, body) => {
    request.body = body;
    done(error);
  });
}

/** Writes the answer of a route. Never throws: what cannot be written is an unexpected failure. */
function give(answer: RouteReply, request: FastifyRequest, reply: FastifyReply, log: Log): void {
  try {
    const writing = writeReply(reply.raw, answer, request);
    reply.hijack();
    writing?.then(
      () => reply.raw.end(),
      (failure: unknown) => breakOff(failure, request, reply, log),
    );
  } catch (thrown) {
    fail(thrown, reply);
  }
}

/** The status line is out: a broken connection is the only way left to say that this is not the whole reply. */
function breakOff(failure: unknown, { scope }: FastifyRequest, { raw }: FastifyReply, log: Log): void {
  // Where the caller has left, that is all that failed.
  if (!raw.destroyed && !(failure instanceof CallerLeft)) noteFailure(failure, scope, log);
  raw.destroy();
}

function fail(thrown: unknown, reply: FastifyReply): void {
  void reply.send(thrown instanceof Error ? thrown : new Error('A route threw what is no error.', { cause: thrown }));
}

/** Where a streamed body is answered before its end, the rest of it is no next request. */
function leaveUnread({ raw }: FastifyRequest, reply: FastifyReply): void {
  reply.raw.setHeader('Connection', 'close');
  raw.once('end', () => {
    if (!reply.raw.headersSent) reply.raw.removeHeader('Connection');
  });
}

/** A relayed call is counted once path rights have let it through, a listing once its query is judged; everything else now. */
function prepareCount(route: Route, { scope, caller }: FastifyRequest, rateLimit: RateLimit | undefined): void {
  if (rateLimit === undefined || caller === null) return;
  if (route.beginsLater === true) scope.count = () => rateLimit.count(caller);
  else rateLimit.count(caller);
}

/** No promise where the caller is known: it was verified a moment ago. */
function admit(route: Route, request: FastifyRequest, options: RouteRunnerOptions): void | Promise<void> {
  if (route.access === 'everyone') {
    admitCaller(route, request, options);
    return undefined;
  }
  const { authorization, cookie } = request.headers;
  const { sourceAddress, requestId } = request.scope;
  const authentication = options.access.authenticate({ authorization, cookie, sourceAddress, requestId });
  if (authentication instanceof Promise) return authentication.then((verified) => admitCaller(route, request, options, verified));
  admitCaller(route, request, options, authentication);
  return undefined;
}

function admitCaller(route: Route, request: FastifyRequest, options: RouteRunnerOptions, caller?: Authentication): void {
  if (caller !== undefined) {
    request.caller = caller;
    request.scope.principal = caller.principal;
    refuseRole(route.access, request.scope);
  }
  route.precondition?.(request.params as Record<string, string>);
  if (route.body !== undefined) {
    checkDeclaredLength(request.raw, bodyLimitOf(route, options));
    checkMediaType(request.raw, bodyMediaType(route.body));
  }
  if (!isSheddable(route)) return;
  options.pressure.refuse();
  options.takeOn(request.scope);
}

/** Bytes; a body that is streamed has no limit. One that a route has no use for is read nevertheless, from whoever it comes. */
function bodyLimitOf({ body }: Route, { server }: RouteRunnerOptions): number {
  if (body === undefined) return Math.min(uselessBody, server.requestBodyLimit);
  if (body.kind === 'stream') return Number.MAX_SAFE_INTEGER;
  return body.limit ?? server.requestBodyLimit;
}

const uselessBody = 16_384;

function refuseRole(access: RouteAccess, scope: RequestScope): void {
  if (access === 'everyone' || access === 'callers') return;
  const decision = decide({ principal: scope.principal, roles: access });
  if (!decision.allowed) throw new GatewayError('forbidden', decision.reason);
}
