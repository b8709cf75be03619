/**
 * The upstream of every measurement, a process of its own. It answers `/list/BYTES` with a list of that size, other requests with a small
 * JSON text, `/after/MILLISECONDS/…` after that time. Prints its ready line. Over IPC it sends the number of complete requests so far.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const small = JSON.stringify({
  status: 'ok',
  devices: [
    { name: 'core-router-01', address: '10.0.0.1', state: 'enabled' },
    { name: 'core-router-02', address: '10.0.0.2', state: 'enabled' },
    { name: 'edge-router-17', address: '10.0.7.1', state: 'locked' },
  ],
});
const smallHeaders = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(small) };

/** A list of instances with escapes, multi-byte text and large numbers, repeated until `bytes` are out. */
function streamList(response: ServerResponse, bytes: number): void {
  response.setHeader('Content-Type', 'application/json');
  const entry = `{"name":"interface-0000","description":"an \\"uplink\\" to Zürich","counters":{"in":18446744073709551615,"out":[1.0,2,3]}},`;
  const block = Buffer.from(entry.repeat(512));
  let left = bytes;
  response.write('{"x:interface":[');
  const more = (): void => {
    while (left > 0) {
      left -= block.length;
      if (!response.write(block)) {
        response.once('drain', more);
        return;
      }
    }
    response.end('{"name":"last"}]}');
  };
  more();
}

let count = 0;
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    count += 1;
    const bytes = /^\/list\/(\d+)$/u.exec(request.url ?? '')?.[1];
    const wait = /^\/after\/(\d+)\//u.exec(request.url ?? '')?.[1];
    if (bytes !== undefined) streamList(response, Number(bytes));
    else if (wait !== undefined) setTimeout(() => response.writeHead(200, smallHeaders).end(small), Number(wait));
    else response.writeHead(200, smallHeaders).end(small);
  });
});
// Connections of a relay stay open while another one is measured, so that none pays for new ones.
server.keepAliveTimeout = 3_600_000;
process.on('message', () => process.send?.(count));
process.on('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', 4096, () => console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`));
