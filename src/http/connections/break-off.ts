import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The TCP sockets below TLS sockets: Node resets only TCP sockets. */
const transports = new WeakMap<Socket, Socket>();

/** Remembers the TCP socket of each TLS connection of a server, which Node names nowhere: both sockets have the same addresses. */
export function rememberTransports(server: Server): void {
  const open = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const key = addressesOf(socket);
    open.set(key, socket);
    socket.once('close', () => {
      if (open.get(key) === socket) open.delete(key);
    });
  });
  server.on('secureConnection', (secured: Socket) => {
    const transport = open.get(addressesOf(secured));
    if (transport !== undefined) transports.set(secured, transport);
  });
}

function addressesOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}

/**
 * Ends a connection within a reply with a reset. In HTTP/1.0, nginx's default, the end of the stream is the end of a reply. A reply that
 * broke off would look complete.
 */
export function breakOff(socket: Socket): void {
  const transport = transports.get(socket) ?? socket;
  if (!transport.destroyed) transport.resetAndDestroy();
  socket.destroy();
}

/** `breakOff` for the connection of a reply that was not sent to its end. */
export function breakOffReply(response: ServerResponse): void {
  if (response.socket !== null) breakOff(response.socket);
  response.destroy();
}
