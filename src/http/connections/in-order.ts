import type { IncomingMessage, RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { breakOff } from './break-off.ts';
import type { OpenConnections } from './open-connections.ts';

/** Requests that may wait on one connection, and on all connections together. */
const waitingOfOne = 4_096;
const waitingOfAll = 16_384;
/** Bytes that may arrive on one connection after its first waiting request: the bodies of waiting requests are kept in memory. */
const bytesOfOne = 4 * 1024 ** 2;

/**
 * Calls `handle` for pipelined requests in order and one at a time, each once the replies before its own are sent. Requests of other
 * connections are handled in between. Without this, Node hands over all requests of one read (some two thousand) at once, and reads on
 * while no reply waits to be written. State-changing requests have to wait in any case (RFC 9112 9.3.2). A connection with more waiting
 * requests or bytes than its limit is closed. Where too many wait on all connections, the one with the most of them is closed.
 */
export function inOrder(handle: RequestListener, connections: Pick<OpenConnections, 'addWaiting'>): RequestListener {
  /** For each waiting request, in order, the bytes that its connection had read when the request came. */
  const waiting = new Map<Socket, number[]>();
  let total = 0;
  const forget = (socket: Socket): void => {
    total -= waiting.get(socket)?.length ?? 0;
    waiting.delete(socket);
  };
  const close = (socket: Socket): void => {
    forget(socket);
    breakOff(socket);
  };
  const closeLongestQueue = (): void => {
    const [longest] = [...waiting].toSorted(([, one], [, other]) => other.length - one.length);
    if (longest !== undefined) close(longest[0]);
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
    connections.addWaiting(request);
    if (queue.length > waitingOfOne || socket.bytesRead - (queue[0] ?? 0) > bytesOfOne) close(socket);
    else if (total > waitingOfAll) closeLongestQueue();
  };
  return (request, response) => {
    const { socket } = request;
    // The caller was refused as too slow, or has left. A request that cannot be answered must not be carried out.
    if (!socket.writable) return;
    // Node assigns the socket to a reply once the replies before it are sent.
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
