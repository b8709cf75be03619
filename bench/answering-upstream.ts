import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Owner } from '../test/support/owner.ts';

/** Starts an upstream in this process that answers each request with a small JSON text; resolves with its URL. */
export async function answeringUpstream(owner: Owner): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.setHeader('Content-Type', 'application/json').end('{"result":"done"}'));
  }).listen(0, '127.0.0.1');
  owner.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
