import type { Server, ServerResponse } from 'node:http';
import { CallerLeft } from '#base/caller-left.ts';
import { inCheckPhase } from '#base/check-phase.ts';
import type { OpenConnections } from './open-connections.ts';

/** Milliseconds in which a caller must take one piece of a reply, however slowly it drips: a call keeps its slot until then. */
const pieceLimit = 60_000;

/**
 * Closes connections whose reader takes nothing of a reply for `stall` milliseconds, twice that at most, and those with nothing in
 * flight that stay silent as long. A connection that waits for its reply is left alone.
 */
export function closeStalledConnections(server: Server, connections: Pick<OpenConnections, 'isIdle'>, stall: number): void {
  // Node keeps quiet while bytes still move.
  server.setTimeout(stall, (socket) => {
    if (socket.writableLength > 0 || connections.isIdle(socket)) socket.destroy();
  });
}

/** Resolves once the bytes are with the operating system and their memory may be used again; rejects where the caller has left. */
export function written(response: ServerResponse, chunk: Buffer, limit = pieceLimit): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => response.destroy(), limit);
    const over = (error?: Error | null): void => {
      clearTimeout(timer);
      response.off('close', left);
      if (error === null || error === undefined) resolve();
      else reject(new CallerLeft());
    };
    const left = (): void => over(new CallerLeft());
    // Node never calls back for what it kept while the connection was going, or while an earlier reply was due.
    response.once('close', left);
    response.write(chunk, over);
  });
}

/**
 * Ends the reply with these bytes, together with all others that are due; where the operating system does not take them at once, the caller
 * has `limit` milliseconds. As text, a character for each byte: Node then writes the head and them in one piece, where a Buffer costs it a
 * vectored write.
 */
export function endWith(response: ServerResponse, last: Buffer | string, limit = pieceLimit): void {
  inCheckPhase(() => {
    if (response.destroyed) return;
    if (typeof last === 'string') response.end(last);
    else response.end(last.toString('latin1'), 'latin1');
    if (response.writableLength === 0) return;
    const timer = setTimeout(() => response.destroy(), limit);
    response.once('close', () => clearTimeout(timer));
  });
}
