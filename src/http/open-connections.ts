import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/** The connections of the front door, so that a drain does not wait for those that have nothing in flight. */
export interface OpenConnections {
  /** A request has come; the result is called when its reply is over. */
  begin(request: IncomingMessage): () => void;
  /**
   * What follows on this connection cannot be read: calls `answer` once every reply is over that is due to a request which came
   * whole, so that none is taken for another's. Of several calls for a connection the first counts.
   */
  endWith(socket: Socket, answer: () => void): void;
  /** From now on every connection ends with the reply in flight, and one that has none after a moment of grace. */
  drain(): void;
  readonly draining: boolean;
}

const none: ReadonlySet<IncomingMessage> = new Set();

/** Milliseconds for a request whose first bytes are already on their way. */
const grace = 500;

/** `secure`: requests then come on the TLS sockets, not on those below them. */
export function trackConnections(server: Server, { secure }: { readonly secure: boolean }): OpenConnections {
  const inFlight = new Map<Socket, Set<IncomingMessage>>();
  const lastWords = new Map<Socket, () => void>();
  const answerLast = (socket: Socket): void => {
    const answer = lastWords.get(socket);
    if (answer === undefined || [...requestsOn(socket)].some(({ complete }) => complete)) return;
    lastWords.set(socket, () => {});
    answer();
  };
  const requestsOn = (socket: Socket): ReadonlySet<IncomingMessage> => inFlight.get(socket) ?? none;
  let draining = false;
  server.on(secure ? 'secureConnection' : 'connection', (socket: Socket) => {
    inFlight.set(socket, new Set());
    socket.once('close', () => {
      inFlight.delete(socket);
      lastWords.delete(socket);
    });
  });
  return {
    begin(request) {
      const { socket } = request;
      inFlight.get(socket)?.add(request);
      return () => {
        inFlight.get(socket)?.delete(request);
        if (draining && requestsOn(socket).size === 0) socket.destroySoon();
        else answerLast(socket);
      };
    },
    endWith(socket, answer) {
      if (lastWords.has(socket) || socket.destroyed) return;
      lastWords.set(socket, answer);
      answerLast(socket);
    },
    drain() {
      draining = true;
      // Node's own check of slow requests ends with server.close(): half a request would hold the drain up to its limit.
      setTimeout(() => {
        for (const [socket, requests] of inFlight) if (requests.size === 0) socket.destroySoon();
      }, grace);
    },
    get draining() {
      return draining;
    },
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
  await turn();
  for (let turns = 0; came && turns < 50; turns += 1) {
    came = false;
    await turn();
  }
  server.off('connection', note);
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
