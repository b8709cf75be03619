import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { Reply, Request } from '../callers/http-client.ts';

/** One request on a connection of its own from this source address, for example `127.0.0.2`. Linux has all of 127.0.0.0/8. */
export async function sendFrom(
  address: string,
  port: number,
  { method = 'GET', target, headers, body }: Request,
): Promise<Reply> {
  const sent = request({ host: '127.0.0.1', port, localAddress: address, agent: false, method, path: target });
  for (const [name, value] of Object.entries(headers ?? {})) sent.setHeader(name, value);
  sent.end(body);
  const [message] = (await once(sent, 'response')) as [IncomingMessage];
  const bytes = await buffer(message);
  const text = bytes.toString('utf8');
  return {
    status: message.statusCode ?? 0,
    head: '',
    headers: Object.entries(message.headersDistinct).flatMap(([name, values = []]) =>
      values.map((value) => [name, value] as const),
    ),
    body: bytes,
    text,
    complete: message.complete,
    header: (name) => message.headersDistinct[name.toLowerCase()]?.join(', '),
    json: () => JSON.parse(text) as unknown,
  };
}
