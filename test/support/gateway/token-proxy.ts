import { createServer, request } from 'node:http';
import { listening } from '../listen.ts';
import type { Owner } from '../owner.ts';

/** A proxy on loopback that adds a token to each request, for programs that cannot send one. Answers its address. */
export async function tokenProxy(owner: Owner, target: string, authorization: string): Promise<string> {
  const { host, hostname, port } = new URL(target);
  const server = createServer((incoming, outgoing) => {
    const own = incoming.headers.host ?? '';
    // A name that is not this proxy's goes on, so that the gateway sees a rebound name.
    const headers = { ...incoming.headers, host: own === authority ? host : own, authorization };
    const { origin } = incoming.headers;
    if (origin === `http://${authority}`) headers.origin = `http://${host}`;
    const sent = request({ hostname, port, method: incoming.method, path: incoming.url, headers }, (reply) => {
      outgoing.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(outgoing);
    });
    sent.on('error', () => outgoing.destroy());
    outgoing.on('close', () => sent.destroy());
    incoming.pipe(sent);
  });
  const authority = `127.0.0.1:${await listening(server)}`;
  owner.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://${authority}`;
}
