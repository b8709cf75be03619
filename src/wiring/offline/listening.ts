import { createServer } from 'node:net';
import { systemCode } from '#base/system-code.ts';

/** Where a gateway listens. */
interface Place {
  readonly host: string;
  readonly port: number;
}

/** Listens there for a moment. Resolves with the code of the system's error, such as EADDRINUSE, where this user cannot. */
export function listenFault({ host, port }: Place): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const server = createServer();
  server.once('error', (error) => resolve(systemCode(error) ?? 'unknown'));
  server.listen({ host, port }, () => server.close(() => resolve(undefined)));
  return promise;
}

/** What to do about a place where a gateway cannot listen. Undefined for other errors than those of a place. */
export function listenAdvice(code: string | undefined, { host, port }: Place): string | undefined {
  if (code === 'EADDRINUSE') return `${host}:${port} is in use; set another server.port (0 picks a free one).`;
  if (code === 'EADDRNOTAVAIL') return `${host} is not an address of this machine; correct server.host.`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `${host} cannot be looked up (${code}); correct server.host.`;
  if (code === 'EACCES') return `${host}:${port} is not allowed for this user; use a port above 1023.`;
  return undefined;
}
