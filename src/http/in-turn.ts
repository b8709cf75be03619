import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { OpenConnections } from './open-connections.ts';

/** Requests that may wait on one connection, and on all of them. */
const waitingOfOne = 4_096;
const waitingOfAll = 16_384;

/**
 * Works on pipelined requests one at a time, each once the replies before its own are out, and other connections have their turn in between.
 * Node hands over all that one read brought, some two thousand at once, and reads on as long as nothing waits to be written. What changes
 * something has to wait anyway (RFC 9112 9.3.2). A connection on which too many wait is closed.
 */
export function takeInTurn(server: Server, connections: Pick<OpenConnections, 'waits'>): void {
  const [handle, ...others] = server.listeners('request') as RequestListener[];
  if (handle === undefined || others.length > 0) throw new Error('One listener is to get the requests in turn.');
  const waiting = new Map<Socket, number>();
  let total = 0;
  const count = (socket: Socket): number => waiting.get(socket) ?? 0;
  const forget = (socket: Socket): void => {
    total -= count(socket);
    waiting.delete(socket);
  };
  const wait = (request: IncomingMessage): void => {
    const { socket } = request;
    if (!waiting.has(socket)) socket.once('close', () => forget(socket));
    waiting.set(socket, count(socket) + 1);
    total += 1;
    connections.waits(request);
    if (count(socket) > waitingOfOne || total > waitingOfAll) socket.destroy();
  };
  server.off('request', handle);
  server.on('request', (request, response) => {
    // Node gives a reply its connection when those before it are out.
    if (response.socket !== null) {
      handle(request, response);
      return;
    }
    const { socket } = request;
    if (socket.destroyed) return;
    wait(request);
    response.once('socket', () =>
      setImmediate(() => {
        if (!socket.writable) return;
        waiting.set(socket, count(socket) - 1);
        total -= 1;
        handle(request, response);
      }),
    );
  });
}
