import { once } from 'node:events';
import type { createServer as createServerOfNode, IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createSecureServer, Server as HttpsServer } from 'node:https';
import { createRequire } from 'node:module';
import type { AddressInfo, Socket } from 'node:net';
import type { AuditLog } from '#audit/audit-log.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import type { Secret } from '#base/secret.ts';
import type { Tracing } from '#base/tracing.ts';
import { createOwnNames, type OwnNames, readPublicUrl } from './admission/own-names.ts';
import { overloaded } from './admission/pressure.ts';
import { checkFraming } from './admission/request-checks.ts';
import { createSourceAddress } from './admission/source-address.ts';
import { watchBodyTime } from './body-arrival.ts';
import { frontDoorLimit, limitConnections } from './connections/connection-limit.ts';
import { inOrder } from './connections/in-order.ts';
import { acceptBacklog, type OpenConnections, trackConnections } from './connections/open-connections.ts';
import { closeStalledConnections } from './connections/slow-reader.ts';
import { answerConnect, answerError, answerUnreadable } from './problem.ts';
import { RequestScope, type ServedRequest } from './request-scope.ts';
import { endRequestSpan, openRequestSpan, type RequestWatcher } from './request-span.ts';
import type { Route } from './route.ts';
import { createRouteRunner, type RouteRunnerOptions } from './route-runner.ts';
import { createRouteTable, type FoundRoute, type RouteTable } from './route-table.ts';

/** An import of node:http also loads Node's WebSocket, fetch and HTTP/2, which take 12 MiB. */
const { createServer } = createRequire(import.meta.url)('node:http') as { readonly createServer: typeof createServerOfNode };

/** PEM texts. */
interface Certificate {
  readonly cert: string;
  readonly key: Secret;
}

interface HttpServerOptions extends Omit<RouteRunnerOptions, 'names' | 'takePlace'> {
  readonly server: {
    readonly host: string;
    readonly port: number;
    readonly tls?: Certificate;
    readonly requestBodyLimit: number;
    readonly trustedProxies: readonly string[];
    readonly publicUrl?: string;
  };
  readonly routes: readonly Route[];
  readonly log: Log;
  readonly watcher: RequestWatcher;
  /** Absent: requests are not traced. */
  readonly tracing?: Tracing | undefined;
  readonly audit: AuditLog;
  /** See `RequestScope`. */
  readonly mask?: (text: string) => string;
}

export interface HttpServer {
  /** Resolves to the address to call, such as `http://127.0.0.1:3000`. */
  listen(): Promise<string>;
  /** The addresses and ports on which the server listens; empty before `listen`. */
  listeners(): readonly { readonly address: string; readonly port: number }[];
  /**
   * Replaces the certificate for new connections where the server has TLS; open connections keep theirs. Throws, and changes nothing,
   * where the certificate cannot be used.
   */
  useCertificate(tls: Certificate): void;
  /** Stops accepting, waits until the calls in flight have ended, and closes idle connections. */
  close(): Promise<void>;
  /** Aborts every connection and call at once, so that a pending `close` resolves. */
  abort(): void;
}

/** Milliseconds, and bytes of a head. Slow headers get 408; bodies have limits of their own (body-arrival.ts). */
const inboundLimits = {
  headersTimeout: 10_000,
  requestTimeout: 0,
  keepAliveTimeout: 72_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 16_384,
};
/** Milliseconds for a TLS handshake. */
const handshakeTimeout = 10_000;
/** Milliseconds in which a caller reads nothing of its reply; its connection is closed after twice that (30 s) at the latest. */
const readerTimeout = 15_000;

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const server = createNodeServer(options.server.tls);
  const names = createOwnNames(options.server);
  const limit = frontDoorLimit();
  const connections = trackConnections(server, { secure: options.server.tls !== undefined });
  options.watcher.watchConnections(() => connections.count, limit.connections);
  limitConnections(server, connections, limit.connections);
  closeStalledConnections(server, connections, readerTimeout);
  server.on('clientError', (error, socket: Socket) => answerUnreadable(error, socket, connections));
  server.on('request', inOrder(createHandler(server, connections, { ...options, names, places: limit.requests }), connections));
  // Kept, since each call to a literal address reads it: server.address() is a system call.
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
      if (!(server instanceof HttpsServer)) return;
      server.setSecureContext({ cert, key: key.reveal() });
      names.useCertificate(cert);
    },
    async close() {
      await acceptBacklog(server);
      // Node would close idle connections at once, and with them requests on their way; drain() gives a grace period.
      server.closeIdleConnections = () => {};
      connections.drain();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
    abort() {
      connections.breakOffAll();
      server.closeAllConnections();
      for (const abortCall of connections.abortCallbacks) abortCall();
    },
  };
}

/** Passes each request to its route. At most `places` requests hold a place at once (`RouteTraits.holdsPlace`). */
function createHandler(
  server: Server,
  connections: OpenConnections,
  options: HttpServerOptions & { readonly names: OwnNames; readonly places: number },
): (raw: IncomingMessage, response: ServerResponse) => void {
  const open = createRequestOpener(server, connections, options);
  const table = createRouteTable(options.routes);
  const runnerOf = createRouteRunner({ ...options, takePlace: createPlaces(options.places) });
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

/** Takes places for requests after authentication: until then a request opens no connection to an upstream. */
function createPlaces(maxHeld: number): RouteRunnerOptions['takePlace'] {
  let held = 0;
  const releasePlace = (): void => void (held -= 1);
  return (scope) => {
    // The caller left during authentication: its reply has ended already, and would never release the place.
    if (scope.isClosed) return;
    if (held >= maxHeld) throw overloaded('as many requests are in flight as its limit of open files allows');
    held += 1;
    scope.releasePlace = releasePlace;
  };
}

function createNodeServer(tls: Certificate | undefined): Server {
  // request-checks.ts refuses a missing Host, like any other fault of a head.
  const options = { ...inboundLimits, requireHostHeader: false };
  const server =
    tls === undefined
      ? createServer(options)
      : createSecureServer({ ...options, handshakeTimeout, cert: tls.cert, key: tls.key.reveal() });
  // Node would answer "Expect: 100-continue" before authentication; route-runner.ts answers it instead.
  for (const event of ['checkContinue', 'checkExpectation']) {
    server.on(event, (request: IncomingMessage, response: ServerResponse) => server.emit('request', request, response));
  }
  // Node passes CONNECT on as a bare socket, which no route can serve.
  server.on('connect', (_request: IncomingMessage, socket: Socket) => answerConnect(socket));
  return server;
}

/** Opens the scope of a request, and observes the request once when its reply has ended, in any way. */
function createRequestOpener(
  server: Server,
  connections: OpenConnections,
  options: HttpServerOptions,
): (raw: IncomingMessage, response: ServerResponse, found: FoundRoute | undefined) => ServedRequest {
  const sourceAddressOf = createSourceAddress(options.server.trustedProxies);
  const publicPath = readPublicUrl(options.server.publicUrl).path;
  return (raw, response, found) => {
    const route = found?.route;
    const scope = new RequestScope({
      request: raw,
      response,
      found,
      sourceAddress: sourceAddressOf(raw),
      publicPath,
      clock: options.clock,
      abortCallbacks: connections.abortCallbacks,
      whenDraining: connections.whenDraining,
      observers: { metrics: options.watcher, log: options.log },
      audit: options.audit,
      mask: options.mask,
    });
    if (options.tracing !== undefined) scope.span = openRequestSpan(options.tracing, raw, scope);
    const end = connections.begin(raw, scope);
    options.watcher.requestStarted();
    const endBodyTime = watchBodyTime(raw, () => server.emit('clientError', bodyTooLate, raw.socket));
    if (connections.draining || dropsFollowingBytes(raw)) scope.announceClosing();
    // Node emits 'close' for every response, complete or aborted.
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
    return { raw, response, route, params: found?.params ?? {}, scope, endBodyTime };
  };
}

/**
 * The gateway ignores Upgrade and serves the request as an ordinary one (RFC 9110 7.8). But Node stops parsing after such a request and
 * drops the bytes that the same read brought: the rest could begin inside a request.
 */
function dropsFollowingBytes({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined;
}

/** The error that Node reports for headers that are too slow. */
const bodyTooLate = Object.assign(new Error('The body is too slow.'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });

/** 404, or 405 with the methods of the path. */
function noRoute(table: RouteTable, { url = '' }: IncomingMessage): GatewayError {
  const allowed = table.methodsOf(url);
  if (allowed.length === 0) return new GatewayError('not-found', 'There is no such route; GET /openapi.json lists them all.');
  const allow = allowed.join(', ');
  return new GatewayError('method-not-allowed', `This route takes ${allow}.`, { headers: { Allow: allow } });
}

/** Writes one log line and one observation for a request whose reply has ended. */
function observe(scope: RequestScope, { log, watcher }: Pick<HttpServerOptions, 'log' | 'watcher'>): void {
  const { record } = scope;
  const status = scope.end();
  watcher.requestEnded(scope, status);
  if (scope.span !== undefined) endRequestSpan(scope.span, scope, status);
  const { requestId, method, routePattern: route, sourceAddress } = scope;
  const { explanation } = record;
  log.info('request', {
    requestId,
    traceId: scope.trace.traceId,
    principal: record.principal.username,
    issuer: record.principal.issuer,
    subject: record.principal.subject,
    sourceAddress,
    method,
    status,
    durationMs: Math.round(record.duration * 100) / 100,
    route,
    adapter: record.adapter,
    upstreamStatus: record.facts.upstreamStatus,
    code: record.code,
    detail: explanation?.detail,
    destination: explanation?.destination,
    path: explanation?.path,
    phase: explanation?.phase,
    reason: record.cutOff ? 'the reply was cut off' : undefined,
  });
}
