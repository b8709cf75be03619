import { lookup } from 'node:dns/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Authentication } from '#access/authentication.ts';
import type { AuditLog } from '#audit/audit-log.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import type { Secret } from '#base/secret.ts';
import type { Tracing } from '#base/tracing.ts';
import { watchBodyTime } from './body-time.ts';
import { frontDoorLimit, limitConnections } from './connection-limit.ts';
import { answerConnect, answerError, answerUnreadable } from './error-replies.ts';
import { takeInTurn } from './in-turn.ts';
import type { Metrics } from './metrics.ts';
import { acceptWaiting, type OpenConnections, trackConnections } from './open-connections.ts';
import { overloaded } from './pressure.ts';
import { checkFraming } from './request-checks.ts';
import { RequestScope } from './request-scope.ts';
import { endRequestSpan, openRequestSpan } from './request-span.ts';
import type { Route } from './route.ts';
import { createRouteRunner, type RouteRunnerOptions } from './route-runner.ts';
import { allowedMethods } from './route-table.ts';
import { closeStalledConnections } from './slow-reader.ts';
import { sourceAddressOf } from './source-address.ts';

/** PEM texts. */
interface Certificate {
  readonly cert: string;
  readonly key: Secret;
}

/** Where and how the gateway listens. */
interface HttpServerOptions extends Omit<RouteRunnerOptions, 'takeOn' | 'open'> {
  readonly server: {
    readonly host: string;
    readonly port: number;
    readonly tls?: Certificate;
    readonly requestBodyLimit: number;
    readonly trustedProxies: readonly string[];
  };
  readonly routes: readonly Route[];
  readonly log: Log;
  readonly metrics: Metrics;
  /** Absent: requests are not traced. */
  readonly tracing?: Tracing | undefined;
  readonly audit: AuditLog;
}

export interface HttpServer {
  /** Resolves to the address to call, such as `http://127.0.0.1:3000`. */
  listen(): Promise<string>;
  /** The address and port it listens on, once it does. */
  listeners(): readonly { readonly address: string; readonly port: number }[];
  /** Of connections from now on, where it serves TLS; those that are open keep theirs. Throws, and changes nothing, where it cannot be used. */
  useCertificate(tls: Certificate): void;
  /** Stops accepting, lets calls in flight finish, closes idle connections. */
  close(): Promise<void>;
  /** Ends every connection and call at once; a `close` that waits for calls in flight goes on. */
  breakOff(): void;
}

/** Milliseconds. Slow headers end in 408; bodies have limits of their own (body-time.ts). */
const inboundLimits = {
  headersTimeout: 10_000,
  requestTimeout: 0,
  keepAliveTimeout: 72_000,
  connectionsCheckingInterval: 2_000,
};
/** Of a TLS connection, milliseconds. */
const handshakeTimeout = 10_000;
/** Of a reader that takes nothing, milliseconds; Node looks twice, so it is gone after 30 s at the latest. */
const readerTimeout = 15_000;

declare module 'fastify' {
  interface FastifyRequest {
    scope: RequestScope;
    /** Null until it is known. */
    caller: Authentication | null;
    /** Ends the watch over the time its body takes. */
    endBodyTime: () => void;
  }
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const app: FastifyInstance = createApp(options, {
    onUndecodable: (request, reply) => openRequest({ request, reply }, connections, options),
    onUnreadable: (error, socket) => answerUnreadable(error, socket, connections),
  });
  const limit = frontDoorLimit();
  const connections = trackConnections(app.server, { secure: options.server.tls !== undefined });
  options.metrics.watchConnections(() => connections.count, limit.connections);
  takeInTurn(app.server, connections);
  limitConnections(app.server, connections, limit.connections);
  closeStalledConnections(app.server, connections, readerTimeout);
  const open = (request: FastifyRequest, reply: FastifyReply, route?: Route): void => {
    openRequest({ request, reply, route }, connections, options);
    checkFraming(request.raw);
  };
  app.setNotFoundHandler((request, reply) => {
    open(request, reply);
    throw noRoute(options.routes, request.raw);
  });
  // Those whose caller is still being looked into open no files.
  let workedOn = 0;
  const giveBack = (): void => void (workedOn -= 1);
  const takeOn = (scope: RequestScope): void => {
    // Its caller left meanwhile: nobody would give it back.
    if (scope.isClosed) return;
    if (workedOn >= limit.requests) throw overloaded('as many requests are in flight as its limit of open files allows');
    workedOn += 1;
    scope.giveBack = giveBack;
  };
  const runner = createRouteRunner({ ...options, takeOn, open });
  for (const route of options.routes) runner.add(app, route);
  app.setErrorHandler((error, request, reply) => answerError(error, request, reply, options.log));
  const addresses = (): readonly AddressInfo[] => app.addresses().filter((address) => typeof address !== 'string');
  // Asked for with each call to a literal address: the system need not be asked each time.
  let bound: readonly AddressInfo[] | undefined;
  const listeners = (): readonly AddressInfo[] => bound ?? addresses();
  return {
    async listen() {
      const { host: configured, port } = options.server;
      // Where it has two addresses Fastify would open another server at the second one, which nothing here watches over.
      await app.listen({ host: configured === 'localhost' ? (await lookup(configured)).address : configured, port });
      bound = addresses();
      const [first] = bound;
      const host = first?.address.includes(':') === true ? `[${first.address}]` : (first?.address ?? '');
      return `${options.server.tls === undefined ? 'http' : 'https'}://${host}:${first?.port ?? 0}`;
    },
    listeners,
    useCertificate({ cert, key }) {
      const server: unknown = app.server;
      if (server instanceof HttpsServer) server.setSecureContext({ cert, key: key.reveal() });
    },
    async close() {
      await acceptWaiting(app.server);
      // Node closes idle connections at once, also those on which a call is on its way; drain() gives them a moment.
      app.server.closeIdleConnections = () => {};
      connections.drain();
      await app.close();
    },
    breakOff() {
      app.server.closeAllConnections();
      for (const end of connections.endings) end();
    },
  };
}

function createApp(
  options: HttpServerOptions,
  on: {
    readonly onUndecodable: (request: FastifyRequest, reply: FastifyReply) => void;
    readonly onUnreadable: (error: Error, socket: Socket) => void;
  },
): FastifyInstance {
  const { tls, trustedProxies } = options.server;
  const http = { ...inboundLimits, maxHeaderSize: 16_384, requireHostHeader: false };
  const app = fastify({
    ...(tls === undefined ? { http } : { https: { ...http, handshakeTimeout, cert: tls.cert, key: tls.key.reveal() } }),
    requestTimeout: inboundLimits.requestTimeout,
    keepAliveTimeout: inboundLimits.keepAliveTimeout,
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    routerOptions: { maxParamLength: 8_192 },
    return503OnClosing: false,
    // Bodies are held against their schemas by json/schema-problems.ts; the compilers that Fastify brings take their time to load.
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    forceCloseConnections: 'idle',
    // Paths that cannot be decoded never reach the hooks.
    frameworkErrors: (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
      on.onUndecodable(request, reply);
      answerError(error, request, reply, options.log);
    },
    clientErrorHandler: on.onUnreadable,
  } as object) as unknown as FastifyInstance;
  app.decorateRequest('scope', null as unknown as RequestScope);
  app.decorateRequest('caller', null);
  app.decorateRequest('endBodyTime', () => {});
  // Node answers "Expect: 100-continue" before anybody asked who the caller is; route-runner.ts does it instead.
  for (const event of ['checkContinue', 'checkExpectation']) {
    app.server.on(event, (request: IncomingMessage, response: ServerResponse) => app.server.emit('request', request, response));
  }
  // Node hands CONNECT over as a bare socket: no route takes it.
  app.server.on('connect', (_request: IncomingMessage, socket: Socket) => answerConnect(socket));
  // Fastify reads no body: what a route takes is read once its caller is known to be allowed to send it (whole-body.ts).
  for (const method of app.supportedMethods) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  return app;
}

function noCompiler(): never {
  throw new Error('A route has a schema of Fastify’s own.');
}

/** Opens the scope of a request and sees to it that it is observed once, whatever becomes of its reply. */
function openRequest(
  {
    request,
    reply,
    route,
  }: { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly route?: Route | undefined },
  connections: OpenConnections,
  options: HttpServerOptions,
): void {
  const scope = new RequestScope({
    request: request.raw,
    response: reply.raw,
    route: route?.url,
    relays: route?.group === 'relay',
    sourceAddress: sourceAddressOf(request),
    clock: options.clock,
    endings: connections.endings,
    observers: options,
    audit: options.audit,
  });
  request.scope = scope;
  if (options.tracing !== undefined) scope.span = openRequestSpan(options.tracing, request.raw, scope);
  const end = connections.begin(request.raw, scope);
  options.metrics.requestStarted();
  const { raw } = request;
  request.endBodyTime = watchBodyTime(raw, () => request.server.server.emit('clientError', bodyTooLate, raw.socket));
  if (connections.draining) reply.raw.setHeader('Connection', 'close');
  // 'close' comes for every response, finished or broken off.
  reply.raw.on('close', () => {
    request.endBodyTime();
    scope.cutOff = !reply.raw.writableFinished;
    scope.afterCall(() => {
      // Where its body could not be read, its caller was answered on the bare socket.
      const status = reply.raw.headersSent ? reply.raw.statusCode : scope.failure?.status;
      observe(scope, status, options);
      scope.giveBack();
      end();
    });
    scope.replied();
  });
}

/** As Node reports it of a request whose headers are too slow. */
const bodyTooLate = Object.assign(new Error('The body is too slow.'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });

/** 404, or 405 with the methods that the path knows. */
function noRoute(routes: readonly Route[], request: IncomingMessage): GatewayError {
  const allowed = allowedMethods(routes, request.url ?? '');
  if (allowed.length === 0) return new GatewayError('not-found', 'There is no such route; GET /openapi.json lists them all.');
  const allow = allowed.join(', ');
  return new GatewayError('method-not-allowed', `This route takes ${allow}.`, { headers: { Allow: allow } });
}

/** One line and one observation for each request, once its reply is out. `status`: undefined where its caller left before. */
function observe(
  scope: RequestScope,
  status: number | undefined,
  { log, metrics }: Pick<HttpServerOptions, 'log' | 'metrics'>,
): void {
  scope.over(status);
  metrics.requestDone(scope, status);
  if (scope.span !== undefined) endRequestSpan(scope.span, scope, status);
  const { requestId, method, route, sourceAddress, adapter, upstreamStatus, failure } = scope;
  // One shape for every line, so that writing it is quick.
  log.info('request', {
    requestId,
    traceId: scope.trace.traceId,
    principal: scope.principal.username,
    sourceAddress,
    method,
    status,
    durationMs: Math.round(scope.duration * 100) / 100,
    route,
    adapter,
    upstreamStatus,
    code: failure?.code,
    reason: scope.cutOff ? 'the reply was cut off' : undefined,
  });
}
