import { createServer, type ServerOptions } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { listening } from '../listen.ts';
import type { Owner } from '../owner.ts';

/** A request over TLS, with the facts of its handshake. */
export interface TlsRequest {
  readonly method: string;
  readonly target: string;
  readonly host: string | undefined;
  /** The name in SNI, undefined where none was sent. */
  readonly serverName: string | undefined;
  readonly protocol: string | null;
}

/** An HTTPS server on loopback with any certificate and any TLS settings. */
export interface TlsUpstream {
  readonly port: number;
  /** `127.0.0.1:PORT` */
  readonly authority: string;
  /** `https://127.0.0.1:PORT` */
  readonly url: string;
  /** Every request that was read, in order. */
  readonly requests: readonly TlsRequest[];
  /** TCP connections accepted so far, with or without a complete handshake. */
  readonly connections: number;
}

/** Starts one on a free port of 127.0.0.1; it answers `{"tls":true}`. */
export async function tlsUpstream(owner: Owner, options: ServerOptions): Promise<TlsUpstream> {
  const requests: TlsRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer(options, (request, response) => {
    const socket = request.socket as TLSSocket & { readonly servername?: string | false };
    const { method = '', url = '' } = request;
    const serverName = typeof socket.servername === 'string' ? socket.servername : undefined;
    requests.push({ method, target: url, host: request.headers.host, serverName, protocol: socket.getProtocol() });
    request.resume();
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"tls":true}');
  });
  server.on('tlsClientError', () => undefined);
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  const port = await listening(server);
  owner.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port,
    authority: `127.0.0.1:${port}`,
    url: `https://127.0.0.1:${port}`,
    requests,
    get connections() {
      return connections;
    },
  };
}
