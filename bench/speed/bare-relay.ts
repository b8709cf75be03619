/**
 * The floor: what a relay costs that checks nothing, on the gateway's own HTTP server and client.
 *
 *   node bench/speed/bare-relay.ts TARGET [stream]
 *
 * It answers a caller of restAction with what TARGET says to a POST of the caller's body, all others with what it says to a GET. With
 * `stream` the reply is passed on as it comes, else when it is whole. Prints its ready line.
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
