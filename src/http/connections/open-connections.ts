import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { inCheckPhase } from '#base/check-phase.ts';
import type { RequestScope } from '#http/request-scope.ts';

/** The connections of the front door, and which of them have nothing in flight: a drain does not wait for those, and newcomers displace them. */
export interface OpenConnections {
  /** A request has come whose turn it is not yet. */
  waits(request: IncomingMessage): void;
  /** A request is begun; the result is called when its reply is over. */
  begin(request: IncomingMessage, scope?: RequestScope): () => void;
  /**
   * What follows on this connection cannot be read: calls `answer` once every reply is over that is due to a request which came
   * whole, so that none is taken for another's, with the scope of the one that did not come whole, if it was opened. Of several calls
   * for a connection the first counts.
   */
  endWith(socket: Socket, answer: (unfinished: RequestScope | undefined) => void): void;
  readonly count: number;
  /** It is open and, where it is secure, has shaken hands. */
  has(socket: Socket): boolean;
  /** True where every reply that was due on this connection is over. */
  isIdle(socket: Socket): boolean;
  /** Closes as many as `count` of those without a request, the longest idle first, and none that is younger than `newcomer`. */
  closeIdle(count: number, newcomer: Socket): void;
  /** From now on every connection ends with the reply in flight, and one that has none after a moment of grace. */
  drain(): void;
  readonly draining: boolean;
  /** What ends the calls that go on without their callers. */
  readonly endings: Set<() => void>;
}

interface InFlight {
  readonly request: IncomingMessage;
  readonly scope: RequestScope | undefined;
}

/** Milliseconds for a request whose first bytes are already on their way. */
const grace = 500;

/** `secure`: requests then come on the TLS sockets, not on those below them. */
export function trackConnections(server: Server, { secure }: { readonly secure: boolean }): OpenConnections {
  const inFlight = new Map<Socket, InFlight[]>();
  /** In the order in which they fell idle; also those that never sent a request. */
  const idle = new Set<Socket>();
  const lastWords = createLastWords((socket) => inFlight.get(socket) ?? []);
  const isIdle = (socket: Socket): boolean => (inFlight.get(socket)?.length ?? 0) === 0;
  let draining = false;
  server.on(secure ? 'secureConnection' : 'connection', (socket: Socket) => {
    inFlight.set(socket, []);
    idle.add(socket);
    socket.once('close', () => {
      inFlight.delete(socket);
      idle.delete(socket);
      lastWords.forget(socket);
    });
  });
  return {
    waits(request) {
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
        if (isIdle(socket) && draining) socket.destroySoon();
        else lastWords.sayIfDue(socket);
      };
    },
    get count() {
      return inFlight.size;
    },
    has: (socket) => inFlight.has(socket),
    isIdle,
    closeIdle(count, newcomer) {
      for (const socket of idle.values().take(Math.max(0, count))) {
        if (socket === newcomer) return;
        idle.delete(socket);
        socket.destroy();
      }
    },
    endWith: lastWords.keep,
    drain() {
      draining = true;
      // Where others follow on its connection, those are answered first.
      for (const requests of inFlight.values()) requests.at(-1)?.scope?.announceClosing();
      // Node's own check of slow requests ends with server.close(): half a request would hold the drain up to its limit.
      const timer = setTimeout(() => {
        for (const socket of idle) socket.destroySoon();
      }, grace);
      // Where there is no connection there is nothing to wait for.
      timer.unref();
    },
    get draining() {
      return draining;
    },
    endings: new Set(),
  };
}

type LastWords = (unfinished: RequestScope | undefined) => void;

/** What is said at the end of connections, each once no request is in flight on it that came whole. */
function createLastWords(inFlightOn: (socket: Socket) => readonly InFlight[]) {
  const kept = new Map<Socket, LastWords>();
  const sayIfDue = (socket: Socket): void => {
    const requests = inFlightOn(socket);
    const say = requests.some(({ request }) => request.complete) ? undefined : kept.get(socket);
    if (say !== undefined) kept.set(socket, () => {});
    say?.(requests[0]?.scope);
  };
  return {
    sayIfDue,
    keep: (socket: Socket, say: LastWords): void => {
      if (kept.has(socket) || socket.destroyed) return;
      kept.set(socket, say);
      sayIfDue(socket);
    },
    forget: (socket: Socket): void => void kept.delete(socket),
  };
}

/**
 * Takes the connections that the system has made for us already: closing the socket they wait at would reset them, with calls
 * that a load balancer has just sent. Ends with the first turn of the event loop that brought none, after 50 turns at the latest.
 */
export async function acceptWaiting(server: Server): Promise<void> {
  let came = true;
  const note = (): void => {
    came = true;
  };
  server.on('connection', note);
  // To the end of this turn; the next one begins with a look at the sockets.
  await new Promise<void>(inCheckPhase);
  for (let turns = 0; came && turns < 50; turns += 1) {
    came = false;
    await new Promise<void>(inCheckPhase);
  }
  server.off('connection', note);
}
