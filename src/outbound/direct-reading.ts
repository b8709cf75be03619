import type { Socket } from 'node:net';

/**
 * Hands what a socket receives to its reader at once, in place of queueing it and saying so a moment later: the way through Node's stream
 * costs more than all that is done with a small reply. Whatever the reader leaves, what comes while something waits and the end go the
 * ordinary way, backpressure with them. For a reader that listens to `readable` and calls `read()` without a size, as undici does.
 */
export function readDirectly(socket: Socket): void {
  const push = socket.push.bind(socket);
  const read = socket.read.bind(socket);
  let received: Buffer | null = null;
  let ended = false;

  socket.push = (chunk: Buffer | null, encoding) => {
    if (chunk === null) ended = true;
    if (chunk === null || socket.readableLength > 0) return push(chunk, encoding);
    received = chunk;
    socket.emit('readable');
    const left = taken();
    return left === null || push(left, encoding);
  };

  socket.read = (size) => {
    if (received !== null) return taken();
    // Nothing waits, and nothing would be begun: Node reads on by itself as long as nothing does.
    if (size === undefined && socket.readableLength === 0 && !ended) return null;
    return read(size) as Buffer | null;
  };

  const taken = (): Buffer | null => {
    const chunk = received;
    received = null;
    return chunk;
  };
}
