import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { AuditLog } from '#audit/audit-log.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import type { Secret } from '#base/secret.ts';
import type { Tracing } from '#base/tracing.ts';
import { overloaded } from './admission/pressure.ts';
import { checkFraming } from './admission/request-checks.ts';
import { createSourceAddress } from './admission/source-address.ts';
import { watchBodyTime } from './connections/body-time.ts';
import { frontDoorLimit, limitConnections } from './connections/connection-limit.ts';
import { inOrder } from './connections/in-order.ts';
import { acceptWaiting, type OpenConnections, trackConnections } from './connections/open-connections.ts';
import { closeStalledConnections } from './connections/slow-reader.ts';
import { answerConnect, answerError, answerUnreadable } from './error-replies.ts';
import { RequestScope } from './request-scope.ts';
import { endRequestSpan, openRequestSpan } from './request-span.ts';
import type { RequestWatcher } from './request-watcher.ts';
import type { Route } from './route.ts';
import { createRouteRunner, type RouteRunnerOptions } from './route-runner.ts';
import { createRouteTable, type FoundRoute, type RouteTable } from './route-table.ts';
import { ServedRequest } from './served-request.ts';

/** PEM texts. */
interface Certificate {
  readonly cert: string;
  readonly key: Secret;
}

/** Where and how the gateway listens. */
interface HttpServerOptions extends Omit<RouteRunnerOptions, 'takeOn'> {
  readonly server: {
    readonly host: string;
    readonly port: number;
    readonly tls?: Certificate;
    readonly requestBodyLimit: number;
    readonly trustedProxies: readonly string[];
  };
  readonly routes: readonly Route[];
  readonly log: Log;
  readonly watcher: RequestWatcher;
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

/** Milliseconds, and bytes of a head. Slow headers end in 408; bodies have limits of their own (body-time.ts). */
const inboundLimits = {
  headersTimeout: 10_000,
  requestTimeout: 0,
  keepAliveTimeout: 72_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 16_384,
};
/** Of a TLS connection, milliseconds. */
const handshakeTimeout = 10_000;
/** Of a reader that takes nothing, milliseconds; Node looks twice, so it is gone after 30 s at the latest. */
const readerTimeout = 15_000;

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const server = createNodeServer(options.server.tls);
  const limit = frontDoorLimit();
  const connections = trackConnections(server, { secure: options.server.tls !== undefined });
  options.watcher.watchConnections(() => connections.count, limit.connections);
  limitConnections(server, connections, limit.connections);
  closeStalledConnections(server, connections, readerTimeout);
  server.on('clientError', (error, socket: Socket) => answerUnreadable(error, socket, connections));
  server.on('request', inOrder(createHandler(server, connections, limit.requests, options), connections));
  // Asked for with each call to a literal address: the system need not be asked each time.
  let bound: readonly AddressInfo[] = [];
  return {
    async listen() {
      const { host, port } = options.server;
      server.listen({ host, port });
      await once(server, 'listening');
      const address = server.address() as AddressInfo;
      bound = [address];
      const name = address.address.includes(':') ? `[${address.address}]` : address.address;
      return `${options.server.tls === undefined ? 'http' : 'https'}://${name}:${address.port}`;
    },
    listeners: () => bound,
    useCertificate({ cert, key }) {
      if (server instanceof HttpsServer) server.setSecureContext({ cert, key: key.reveal() });
    },
    async close() {
      await acceptWaiting(server);
      // Node closes idle connections at once, also those on which a call is on its way; drain() gives them a moment.
      server.closeIdleConnections = () => {};
      connections.drain();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
    breakOff() {
      server.closeAllConnections();
      for (const end of connections.endings) end();
    },
  };
}

/** What takes each request to its route. At most `requests` are worked on at once. */
function createHandler(
  server: Server,
  connections: OpenConnections,
  requests: number,
  options: HttpServerOptions,
): (raw: IncomingMessage, response: ServerResponse) => void {
  const open = createRequestOpener(server, connections, options);
  const table = createRouteTable(options.routes);
  const runnerOf = createRouteRunner({ ...options, takeOn: createTakeOn(requests) });
  const runners = new Map(options.routes.map((route) => [route, runnerOf(route)]));
  return (raw, response) => {
    const found = table.find(raw);
    const request = open(raw, response, found);
    try {
      checkFraming(raw);
      const run = found && runners.get(found.route);
      if (run === undefined) throw noRoute(table, raw);
      run(request);
    } catch (error) {
      answerError(error, request, options.log);
    }
  };
}

/** Counts the requests that are worked on. Those whose caller is still being looked into open no files. */
function createTakeOn(most: number): RouteRunnerOptions['takeOn'] {
  let workedOn = 0;
  const releasePlace = (): void => void (workedOn -= 1);
  return (scope) => {
    // Its caller left meanwhile: nobody would give it back.
    if (scope.isClosed) return;
    if (workedOn >= most) throw overloaded('as many requests are in flight as its limit of open files allows');
    workedOn += 1;
    scope.releasePlace = releasePlace;
  };
}

function createNodeServer(tls: Certificate | undefined): Server {
  // A missing Host is refused with whatever else is wrong with a head (request-checks.ts).
  const options = { ...inboundLimits, requireHostHeader: false };
  const server =
    tls === undefined
      ? createServer(options)
      : createSecureServer({ ...options, handshakeTimeout, cert: tls.cert, key: tls.key.reveal() });
  // Node answers "Expect: 100-continue" before anybody asked who the caller is; route-runner.ts does it instead.
  for (const event of ['checkContinue', 'checkExpectation']) {
    server.on(event, (request: IncomingMessage, response: ServerResponse) => server.emit('request', request, response));
  }
  // Node hands CONNECT over as a bare socket: no route takes it.
  server.on('connect', (_request: IncomingMessage, socket: Socket) => answerConnect(socket));
  return server;
}

/** Opens the scope of a request and sees to it that it is observed once, whatever becomes of its reply. */
function createRequestOpener(
  server: Server,
  connections: OpenConnections,
  options: HttpServerOptions,
): (raw: IncomingMessage, response: ServerResponse, found: FoundRoute | undefined) => ServedRequest {
  const sourceAddressOf = createSourceAddress(options.server.trustedProxies);
  return (raw, response, found) => {
    const route = found?.route;
    const scope = new RequestScope({
      request: raw,
      response,
      found,
      sourceAddress: sourceAddressOf(raw),
      clock: options.clock,
      endings: connections.endings,
      observers: { metrics: options.watcher, log: options.log },
      audit: options.audit,
    });
    if (options.tracing !== undefined) scope.span = openRequestSpan(options.tracing, raw, scope);
    const end = connections.begin(raw, scope);
    options.watcher.requestStarted();
    const endBodyTime = watchBodyTime(raw, () => server.emit('clientError', bodyTooLate, raw.socket));
    if (connections.draining || losesWhatFollows(raw)) scope.announceClosing();
    // 'close' comes for every response, finished or broken off.
    response.on('close', () => {
      endBodyTime();
      scope.record.cutOff = !response.writableFinished;
      scope.record.afterCall(() => {
        observe(scope, options);
        scope.releasePlace();
        end();
      });
      scope.replyEnded();
    });
    return new ServedRequest({ raw, response, route, params: found?.params ?? {}, scope, endBodyTime });
  };
}

/**
 * Nobody is upgraded here, and the request is an ordinary one (RFC 9110 7.8). But Node stops parsing behind it and passes over what the same
 * read brought: the rest could be half a request.
 */
function losesWhatFollows({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined;
}

/** As Node reports it of a request whose headers are too slow. */
const bodyTooLate = Object.assign(new Error('The body is too slow.'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });

/** 404, or 405 with the methods that the path knows. */
function noRoute(table: RouteTable, { url = '' }: IncomingMessage): GatewayError {
  const allowed = table.methodsOf(url);
  if (allowed.length === 0) return new GatewayError('not-found', 'There is no such route; GET /openapi.json lists them all.');
  const allow = allowed.join(', ');
  return new GatewayError('method-not-allowed', `This route takes ${allow}.`, { headers: { Allow: allow } });
}

/** One line and one observation for each request, once its reply is out. */
function observe(scope: RequestScope, { log, watcher }: Pick<HttpServerOptions, 'log' | 'watcher'>): void {
  const { record } = scope;
  const status = scope.end();
  watcher.requestEnded(scope, status);
  if (scope.span !== undefined) endRequestSpan(scope.span, scope, status);
  const { requestId, method, routePattern: route, sourceAddress } = scope;
  // One shape for every line, so that writing it is quick.
  log.info('request', {
    requestId,
    traceId: scope.trace.traceId,
    principal: record.principal.username,
    sourceAddress,
    method,
    status,
    durationMs: Math.round(record.duration * 100) / 100,
    route,
    adapter: record.adapter,
    upstreamStatus: record.facts.upstreamStatus,
    code: record.code,
    reason: record.cutOff ? 'the reply was cut off' : undefined,
  });
}
