/**
 * The floor: the cost of a relay that checks nothing, with Node's HTTP server and undici's client.
 *
 *   node bench/speed/bare-relay.ts TARGET [stream]
 *
 * For restAction it sends TARGET a POST with the caller's body, for other routes a GET, and passes the reply on. With `stream` it passes
 * each chunk on at once, else the whole reply. Prints its ready line.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { request } from 'undici';

const [target = '', mode] = process.argv.slice(2);

async function relay(action: boolean, body: Buffer, response: ServerResponse): Promise<void> {
  const reply = await (action
    ? request(target, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    : request(target));
  response.statusCode = reply.statusCode;
  response.setHeader('Content-Type', String(reply.headers['content-type']));
  if (mode === 'stream') await pipeline(reply.body, response);
  else response.end(Buffer.from(await reply.body.arrayBuffer()));
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    relay(request.url?.includes('restAction') === true, Buffer.concat(chunks), response).catch(() => response.destroy());
  });
});
server.listen(0, '127.0.0.1', 4096, () => console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`));
