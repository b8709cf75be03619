import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { Owner } from '../owner.ts';

/** Listeners that no call may reach, on one port of several addresses of this machine, with a count of connections. */
interface Canary {
  readonly port: number;
  /** The addresses on which it listens: those of the requested ones that this machine has. */
  readonly addresses: readonly string[];
  /** Connections accepted so far, over all addresses. */
  readonly accepted: number;
}

/** Starts a canary, which answers every request with an empty JSON object, so that a call that reaches it succeeds. */
export async function startCanary(owner: Owner, addresses: readonly string[]): Promise<Canary> {
  const state = { accepted: 0, sockets: new Set<Socket>() };
  const listening = await onOnePort(addresses, (socket) => {
    state.accepted += 1;
    state.sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => state.sockets.delete(socket));
    socket.once('data', () => {
      socket.end('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}');
    });
  });
  owner.after(() => {
    for (const socket of state.sockets) socket.destroy();
    for (const { server } of listening.servers) server.close();
  });
  return {
    port: listening.port,
    addresses: listening.servers.map(({ address }) => address),
    get accepted() {
      return state.accepted;
    },
  };
}

interface Listening {
  readonly port: number;
  readonly servers: readonly { readonly address: string; readonly server: Server }[];
}

/** Listens on the same port at every address; where one address has the port in use, tries another port. */
async function onOnePort(addresses: readonly string[], accept: (socket: Socket) => void): Promise<Listening> {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const servers: { address: string; server: Server }[] = [];
    let port = 0;
    let taken = false;
    for (const address of addresses) {
      const server = createServer(accept);
      const problem = await listenOn(server, address, port);
      if (problem === undefined) {
        servers.push({ address, server });
        port = portOf(server);
      } else if (problem === 'EADDRINUSE') taken = true;
      else if (problem !== 'EADDRNOTAVAIL' && problem !== 'EAFNOSUPPORT') throw new Error(`${address}: ${problem}`);
    }
    if (!taken) return { port, servers };
    for (const { server } of servers) server.close();
  }
  throw new Error('no port is free at all of these addresses');
}

/** Undefined once the server listens, else the system's error code. */
async function listenOn(server: Server, host: string, port: number): Promise<string | undefined> {
  server.listen({ host, port, ipv6Only: true });
  try {
    await once(server, 'listening');
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the canary has no port');
  return address.port;
}
