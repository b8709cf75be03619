import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import { listening } from '../listen.ts';
import type { Owner } from '../owner.ts';
import type { Identity } from './certificate.ts';

/** A CONNECT as the proxy read it. */
export interface TunnelRequest {
  /** The request target, `host:port`. */
  readonly authority: string;
  /** `user:password` of Basic, decoded; undefined where none was sent. */
  readonly credentials: string | undefined;
  /** All headers, names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** A forward proxy on loopback that accepts CONNECT alone and records every request. */
export interface ConnectProxy {
  readonly port: number;
  /** `http://127.0.0.1:PORT`, or https with an identity. */
  readonly url: string;
  /** Every CONNECT since the last `forget`. */
  readonly tunnels: readonly TunnelRequest[];
  /** Connections accepted since the last `forget`, with or without a request. */
  readonly connections: number;
  forget(): void;
}

interface ProxyOptions {
  /** The certificate of the proxy itself, which then speaks TLS. */
  readonly identity?: Identity;
  /** The required `user:password`; the reply to any other is 407. */
  readonly credentials?: string;
  /** The port of 127.0.0.1 for a tunnel to this authority; without `to`, or where it answers undefined, the authority itself. */
  readonly to?: (authority: string) => number | undefined;
}

export async function connectProxy(owner: Owner, { identity, credentials, to }: ProxyOptions = {}): Promise<ConnectProxy> {
  const tunnels: TunnelRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = identity === undefined ? createServer() : createSecureServer(identity);
  server.on('connection', (socket: Socket) => {
    connections += 1;
    remember(socket, sockets);
  });
  server.on('tlsClientError', () => undefined);
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    socket.on('error', () => undefined);
    const tunnel = readTunnel(request);
    tunnels.push(tunnel);
    if (credentials !== undefined && tunnel.credentials !== credentials) {
      socket.end('HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm="test"\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    const end = endOf(tunnel.authority, to?.(tunnel.authority));
    let established = false;
    const far = connect(end, () => {
      established = true;
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(far).pipe(socket);
    });
    remember(far, sockets);
    far.on('error', () => {
      // Once the tunnel is established, the gateway would read a reply of the proxy as that of the upstream.
      if (!established) socket.end('HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n');
      else if (identity === undefined) socket.resetAndDestroy();
      else socket.destroy();
    });
    far.on('close', () => socket.destroy());
    socket.on('close', () => far.destroy());
  });
  const port = await listening(server);
  owner.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port,
    url: `${identity === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    tunnels,
    get connections() {
      return connections;
    },
    forget: () => {
      tunnels.length = 0;
      connections = 0;
    },
  };
}

function endOf(authority: string, to: number | undefined): { readonly host: string; readonly port: number } {
  if (to !== undefined) return { host: '127.0.0.1', port: to };
  const { hostname, port } = new URL(`http://${authority}`);
  return { host: hostname.replaceAll(/[[\]]/gu, ''), port: Number(port || 80) };
}

function remember(socket: Socket, sockets: Set<Socket>): void {
  sockets.add(socket);
  socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
}

function readTunnel({ url = '', headers }: IncomingMessage): TunnelRequest {
  const basic = /^Basic ([A-Za-z0-9+/=]+)$/u.exec(headers['proxy-authorization'] ?? '')?.[1];
  return {
    authority: url,
    credentials: basic === undefined ? undefined : Buffer.from(basic, 'base64').toString('utf8'),
    headers,
  };
}
