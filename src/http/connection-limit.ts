import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { OpenConnections } from './open-connections.ts';

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
export function limitConnections(server: Server, connections: OpenConnections, limit: number): void {
  const headroom = Math.ceil(limit / 20);
  server.maxConnections = limit;
  // Connections that are still shaking hands count as well, but cannot be told from others: their time limit ends them.
  server.on('connection', (newcomer: Socket) =>
    server.getConnections((_error, count) => connections.closeIdle(count - (limit - headroom), newcomer)),
  );
}
