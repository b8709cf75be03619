import type { Server, ServerResponse } from 'node:http';
import { CallerLeft } from '#base/caller-left.ts';
import { breakOff, breakOffReply } from './break-off.ts';
import type { OpenConnections } from './open-connections.ts';

/** Milliseconds in which a caller must read one piece of a reply. A slow reader holds the call's slot until then. */
const pieceLimit = 60_000;

/**
 * Closes connections whose caller reads nothing of a reply for `stall` milliseconds (twice that at most), and idle connections that stay
 * silent for as long. A connection that waits for its reply stays open.
 */
export function closeStalledConnections(server: Server, connections: Pick<OpenConnections, 'isIdle'>, stall: number): void {
  // Node calls back only after `stall` milliseconds without a byte in either direction.
  server.setTimeout(stall, (socket) => {
    if (socket.writableLength > 0) breakOff(socket);
    else if (connections.isIdle(socket)) socket.destroy();
  });
}

/** Resolves once the operating system has the bytes and their memory may be reused; rejects where the caller has left. */
export function writePiece(response: ServerResponse, chunk: Buffer, limit = pieceLimit): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => breakOffReply(response), limit);
    const end = (error?: Error | null): void => {
      clearTimeout(timer);
      response.off('close', left);
      if (error === null || error === undefined) resolve();
      else reject(new CallerLeft());
    };
    const left = (): void => end(new CallerLeft());
    // Node never calls back for bytes that it kept while the connection was closing, or while an earlier reply was due.
    response.once('close', left);
    response.write(chunk, end);
  });
}

/**
 * Ends the reply with these bytes, together with all other replies of this iteration of the event loop. Where the operating system does not
 * take them at once, the caller has `limit` milliseconds. As latin1 text Node writes head and body in one piece, which halves the cost.
 */
export function endReply(response: ServerResponse, last: Buffer | string, limit = pieceLimit): void {
  setImmediate(() => {
    if (response.destroyed) return;
    if (typeof last === 'string') response.end(last);
    else response.end(last.toString('latin1'), 'latin1');
    if (response.writableLength === 0) return;
    const timer = setTimeout(() => breakOffReply(response), limit);
    response.once('close', () => clearTimeout(timer));
  });
}
