import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A little less than 8 MiB, the limit of a document and of a reply in a run. */
const size = 8 * 1024 * 1024 - 4096;

/** Starts the upstream of the hostile user in this process: large and broken documents, and a path without a reply. */
export async function hostileUpstream(): Promise<string> {
  const documents = new Map([
    ['/large', JSON.stringify({ text: 'x'.repeat(size) })],
    ['/broken', '{"openapi":"3.1.0","paths":{"/read":{"get":['.repeat(1000)],
    ['/openapi', largeDescription()],
  ]);
  const server = createServer((request, response) => {
    const text = documents.get(request.url ?? '');
    request.resume();
    if (text !== undefined) response.setHeader('Content-Type', 'application/json').end(text);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An OpenAPI document of nearly 8 MiB with very many operations. */
function largeDescription(): string {
  const operation = (id: string): object => ({ get: { operationId: id, responses: { 200: { description: 'ok' } } } });
  const paths: Record<string, object> = { '/large': operation('read') };
  const each = JSON.stringify(operation('other100000')).length + '"/other100000":,'.length;
  for (let number = 0; number < Math.floor(size / each) - 10; number += 1) paths[`/other${number}`] = operation(`other${number}`);
  return JSON.stringify({ openapi: '3.1.0', info: { title: 'large', version: '1' }, paths });
}
