import type { IncomingMessage, RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import type { OpenConnections } from './open-connections.ts';

/** Requests that may wait on one connection, and on all of them. */
const waitingOfOne = 4_096;
const waitingOfAll = 16_384;
/** Bytes that one connection may bring behind the first request that waits on it: bodies are kept until their turn. */
const bytesOfOne = 4 * 1024 ** 2;

/**
 * Has `handle` work on pipelined requests one at a time, each once the replies before its own are out, and other connections have their turn in between.
 * Node hands over all that one read brought, some two thousand at once, and reads on as long as nothing waits to be written. What changes
 * something has to wait anyway (RFC 9112 9.3.2). A connection on which too much waits is closed, and where too much waits altogether the one
 * with most of it.
 */
export function inOrder(handle: RequestListener, connections: Pick<OpenConnections, 'waits'>): RequestListener {
  /** For each request that waits, in order, how many bytes its connection had brought when it came. */
  const waiting = new Map<Socket, number[]>();
  let total = 0;
  const forget = (socket: Socket): void => {
    total -= waiting.get(socket)?.length ?? 0;
    waiting.delete(socket);
  };
  const close = (socket: Socket): void => {
    forget(socket);
    socket.destroy();
  };
  const closeGreediest = (): void => {
    const [greediest] = [...waiting].toSorted(([, one], [, other]) => other.length - one.length);
    if (greediest !== undefined) close(greediest[0]);
  };
  const queueOf = (socket: Socket): number[] => {
    const known = waiting.get(socket);
    if (known !== undefined) return known;
    const queue: number[] = [];
    waiting.set(socket, queue);
    socket.once('close', () => forget(socket));
    return queue;
  };
  const wait = (request: IncomingMessage): void => {
    const { socket } = request;
    const queue = queueOf(socket);
    queue.push(socket.bytesRead);
    total += 1;
    connections.waits(request);
    if (queue.length > waitingOfOne || socket.bytesRead - (queue[0] ?? 0) > bytesOfOne) close(socket);
    else if (total > waitingOfAll) closeGreediest();
  };
  return (request, response) => {
    const { socket } = request;
    // It has been told that it was too slow, or is gone: whatever comes now could not be answered, and must not be done either.
    if (!socket.writable) return;
    // Node gives a reply its connection when those before it are out.
    if (response.socket !== null) {
      handle(request, response);
      return;
    }
    wait(request);
    response.once('socket', () =>
      setImmediate(() => {
        if (!socket.writable) return;
        waiting.get(socket)?.shift();
        total -= 1;
        handle(request, response);
      }),
    );
  };
}
