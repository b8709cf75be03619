import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import type { RequestScope } from '../request-scope.ts';
import { breakOff, rememberTransports } from './break-off.ts';

/**
 * The connections of the front door, and which of them are idle: without a request in flight. A drain does not wait for idle
 * connections, and new connections displace them.
 */
export interface OpenConnections {
  /** A request came, and replies before its own are still due. */
  addWaiting(request: IncomingMessage): void;
  /** The gateway begins to serve a request; the result is to be called when its reply has ended. */
  begin(request: IncomingMessage, scope?: RequestScope): () => void;
  /**
   * The rest of this connection cannot be read. Calls `send` once the replies to all complete requests have ended, so that no caller
   * takes the final reply for another one. `incomplete` is the scope of the request that did not arrive in full, if it was opened. Of
   * several calls for a connection the first counts.
   */
  sendFinalReply(socket: Socket, send: FinalReply): void;
  readonly count: number;
  /** True while it is open and, under TLS, its handshake is complete. */
  has(socket: Socket): boolean;
  /** True where no request is in flight on this connection. */
  isIdle(socket: Socket): boolean;
  /** Closes up to `count` idle connections, the longest idle first; neither `newest` nor any that became idle after it. */
  closeIdle(count: number, newest: Socket): void;
  /** From now on each connection ends with its last reply in flight, and an idle one after the grace period. */
  drain(): void;
  readonly draining: boolean;
  /** Calls back when the drain begins, at once where it has begun; the result takes that back. */
  whenDraining(this: void, callback: () => void): () => void;
  /** Breaks off every connection with a request in flight. */
  breakOffAll(): void;
  /** Callbacks that abort the calls which may outlast their callers' connections (`CallContext.whenStopping`). */
  readonly abortCallbacks: Set<() => void>;
}

interface InFlight {
  readonly request: IncomingMessage;
  readonly scope: RequestScope | undefined;
}

/** Milliseconds that an idle connection stays open in a drain, for a request that its caller has just sent. */
const gracePeriod = 500;

/** `secure`: requests come on the TLS sockets, not on the TCP sockets below them. */
export function trackConnections(server: Server, { secure }: { readonly secure: boolean }): OpenConnections {
  const inFlight = new Map<Socket, InFlight[]>();
  /** In the order in which they became idle; connections that never sent a request are in it too. */
  const idle = new Set<Socket>();
  const finalReplies = createFinalReplies((socket) => inFlight.get(socket) ?? []);
  const isIdle = (socket: Socket): boolean => (inFlight.get(socket)?.length ?? 0) === 0;
  const draining = createDraining();
  onConnection(server, secure, (socket) => {
    inFlight.set(socket, []);
    idle.add(socket);
    return () => {
      inFlight.delete(socket);
      idle.delete(socket);
      finalReplies.forget(socket);
    };
  });
  return {
    addWaiting(request) {
      inFlight.get(request.socket)?.push({ request, scope: undefined });
    },
    begin(request, scope) {
      const { socket } = request;
      const [requests, begun] = [inFlight.get(socket) ?? [], { request, scope }];
      const waited = requests.findIndex((one) => one.request === request);
      requests.splice(waited < 0 ? requests.length : waited, 1, begun);
      idle.delete(socket);
      return () => {
        requests.splice(requests.indexOf(begun), 1);
        if (isIdle(socket) && !socket.destroyed) idle.add(socket);
        if (isIdle(socket) && draining.hasBegun) socket.destroySoon();
        else finalReplies.sendIfDue(socket);
      };
    },
    get count() {
      return inFlight.size;
    },
    has: (socket) => inFlight.has(socket),
    isIdle,
    closeIdle(count, newest) {
      for (const socket of idle.values().take(Math.max(0, count))) {
        if (socket === newest) return;
        idle.delete(socket);
        socket.destroy();
      }
    },
    sendFinalReply: finalReplies.add,
    drain() {
      draining.begin();
      // Only the last request of each connection: those before it are answered first.
      for (const requests of inFlight.values()) requests.at(-1)?.scope?.announceClosing();
      endAfterGrace(idle);
    },
    get draining() {
      return draining.hasBegun;
    },
    whenDraining: draining.when,
    breakOffAll() {
      for (const socket of inFlight.keys()) if (!isIdle(socket)) breakOff(socket);
    },
    abortCallbacks: new Set(),
  };
}

/** Whether the drain has begun, and what waits for it. */
function createDraining() {
  const waiting = new Set<() => void>();
  let hasBegun = false;
  return {
    get hasBegun() {
      return hasBegun;
    },
    begin(): void {
      hasBegun = true;
      for (const callback of waiting) callback();
    },
    when(this: void, callback: () => void): () => void {
      if (hasBegun) callback();
      else waiting.add(callback);
      return () => void waiting.delete(callback);
    },
  };
}

/** Calls `opened` for each connection that can send requests, and its result when the connection closes. */
function onConnection(server: Server, secure: boolean, opened: (socket: Socket) => () => void): void {
  if (secure) rememberTransports(server);
  server.on(secure ? 'secureConnection' : 'connection', (socket: Socket) => socket.once('close', opened(socket)));
}

/** server.close() stops Node's own check of slow requests: an incomplete request would hold the drain up to its limit. */
function endAfterGrace(idle: ReadonlySet<Socket>): void {
  const timer = setTimeout(() => {
    for (const socket of idle) socket.destroySoon();
  }, gracePeriod);
  // A process without connections need not wait for the grace period.
  timer.unref();
}

type FinalReply = (incomplete: RequestScope | undefined) => void;

/** The final replies of connections, each sent once no complete request is in flight on its connection. */
function createFinalReplies(inFlightOn: (socket: Socket) => readonly InFlight[]) {
  const pending = new Map<Socket, FinalReply>();
  const sendIfDue = (socket: Socket): void => {
    const requests = inFlightOn(socket);
    const send = requests.some(({ request }) => request.complete) ? undefined : pending.get(socket);
    if (send !== undefined) pending.set(socket, () => {});
    send?.(requests[0]?.scope);
  };
  return {
    sendIfDue,
    add: (socket: Socket, send: FinalReply): void => {
      if (pending.has(socket) || socket.destroyed) return;
      pending.set(socket, send);
      sendIfDue(socket);
    },
    forget: (socket: Socket): void => void pending.delete(socket),
  };
}

/**
 * Accepts the connections that wait in the listening socket's backlog: closing that socket would reset them, with requests that a load
 * balancer has just sent. Ends with the first iteration of the event loop without a new connection, after 50 iterations at the latest.
 */
export async function acceptBacklog(server: Server): Promise<void> {
  let came = true;
  const note = (): void => {
    came = true;
  };
  server.on('connection', note);
  // The next iteration of the event loop begins after its check phase and polls the sockets.
  await setImmediate();
  for (let iterations = 0; came && iterations < 50; iterations += 1) {
    came = false;
    await setImmediate();
  }
  server.off('connection', note);
}
