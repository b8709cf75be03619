import { readFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const mostConnections = 16_384;
/** What is assumed where the system does not tell: the smallest hard limit of a common one. */
const assumedOpenFiles = 4_096;

/** How many connections the front door may hold: half of the files that the process may open, for each may lead to a call. */
export function connectionLimit(): number {
  return Math.min(mostConnections, Math.floor(openFilesLimit() / 2));
}

function openFilesLimit(): number {
  try {
    const soft = /^Max open files\s+(\d+|unlimited)/mu.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1];
    if (soft === undefined) return assumedOpenFiles;
    return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return assumedOpenFiles;
  }
}

/**
 * Keeps the connections of a server at or below `limit`. Those that come when nearly all are taken displace the ones that have been
 * without a request for longest, so that a crowd of silent connections keeps nobody out; beyond the limit they are refused.
 */
export function limitConnections(server: Server, { limit, secure }: { readonly limit: number; readonly secure: boolean }): void {
  /** In the order in which they fell idle; also those that never sent a request. */
  const idle = new Set<Socket>();
  const inFlight = new Map<Socket, number>();
  const headroom = Math.ceil(limit / 20);
  server.maxConnections = limit;

  const displace = (count: number, newcomer: Socket): void => {
    let surplus = count - (limit - headroom);
    for (const socket of idle) {
      if (surplus <= 0 || socket === newcomer) return;
      surplus -= 1;
      idle.delete(socket);
      socket.destroy();
    }
  };

  // Connections that are still shaking hands count as well, but cannot be told from others: their time limit ends them.
  server.on('connection', (newcomer) => server.getConnections((_error, count) => displace(count, newcomer)));
  server.on(secure ? 'secureConnection' : 'connection', (socket: Socket) => {
    idle.add(socket);
    socket.once('close', () => {
      idle.delete(socket);
      inFlight.delete(socket);
    });
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    idle.delete(socket);
    inFlight.set(socket, (inFlight.get(socket) ?? 0) + 1);
    response.once('close', () => {
      if (socket.destroyed) return;
      const left = (inFlight.get(socket) ?? 1) - 1;
      if (left > 0) {
        inFlight.set(socket, left);
        return;
      }
      inFlight.delete(socket);
      idle.add(socket);
    });
  });
}
