import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { OpenConnections } from './open-connections.ts';

const mostConnections = 16_384;
/** What is assumed where the system does not tell: the smallest hard limit of a common one. */
const assumedOpenFiles = 4_096;

/** What the front door may have at once. */
interface FrontDoorLimit {
  readonly connections: number;
  /** Those that are worked on. */
  readonly requests: number;
}

/** Files that the gateway opens for itself: the store, the log, what Node needs, look-ups. */
const ownFiles = 80;

/**
 * Of the files that the process may open beside its own two in three are for connections, most of which are idle at any time, and one
 * for what the requests in flight open at far sides.
 */
export function frontDoorLimit(openFiles: number = openFilesLimit()): FrontDoorLimit {
  const third = Math.max(1, Math.floor((openFiles - ownFiles) / 3));
  return { connections: Math.min(mostConnections, 2 * third), requests: third };
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
