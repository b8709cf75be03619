import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { OpenConnections } from './open-connections.ts';

const maxConnections = 16_384;
/** Assumed where the system has no /proc/self/limits: the smallest hard limit of common systems. */
const assumedOpenFiles = 4_096;

/** How many connections and requests the front door may have at once. */
interface FrontDoorLimit {
  readonly connections: number;
  /** Requests that hold a place (`RouteTraits.holdsPlace`). */
  readonly requests: number;
}

/** File descriptors that the gateway needs for itself: the store, the log, Node, DNS look-ups. */
const ownFiles = 80;

/**
 * Divides the open files limit without `ownFiles`: two thirds are for connections, most of which are idle at any time. One third is for
 * connections to upstreams, one for each request that holds a place.
 */
export function frontDoorLimit(openFiles: number = openFilesLimit()): FrontDoorLimit {
  const third = Math.max(1, Math.floor((openFiles - ownFiles) / 3));
  return { connections: Math.min(maxConnections, 2 * third), requests: third };
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
 * Keeps the connections of a server at or below `limit`. From 95 % of it on, a new connection closes the longest idle ones, so that many
 * silent connections cannot lock callers out. Beyond the limit new connections are refused.
 */
export function limitConnections(server: Server, connections: OpenConnections, limit: number): void {
  const headroom = Math.ceil(limit / 20);
  server.maxConnections = limit;
  // `count` has connections in their TLS handshake too, but closeIdle cannot close those: handshakeTimeout does.
  server.on('connection', (newest: Socket) =>
    server.getConnections((_error, count) => connections.closeIdle(count - (limit - headroom), newest)),
  );
}
