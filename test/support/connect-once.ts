import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';

/** Opens one connection as undici would; the socket is the caller's to destroy. */
export function connectOnce(connect: buildConnector.connector, origin: string): Promise<Socket> {
  const { hostname, host, port, protocol } = new URL(origin);
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  connect({ hostname: hostname.replaceAll(/[[\]]/gu, ''), host, port, protocol }, (error, socket) => {
    if (error === null) resolve(socket);
    else reject(error);
  });
  return promise;
}
