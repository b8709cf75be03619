import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const sizeLimit = 4 * 1024 ** 3;
const pieceLength = 64 * 1024;

const description = {
  name: 'Demo orchestrator',
  warning: 'A stand-in for trying and testing the gateway. It is not Cisco NSO and manages no network.',
  restconf: '/restconf',
  legacy: '/api',
  echo: '/demo/echo (any method): the request as it was received',
  bytes: '/demo/bytes?size=1048576&as=text|json|binary&framing=length|chunked: a reply of exactly that size',
  lock: 'POST /demo/lock and POST /demo/unlock: hold the datastore, so that writes answer 409 lock-denied',
};

/** Answers `/` and `/demo` with a description of this server. */
export function answerDescription(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(`${JSON.stringify(description, null, 2)}\n`);
}

/** Replies with the request: method, target and header lines unchanged, the body as base64, and as text where it is UTF-8. */
export function answerEcho(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
  const { method, url, httpVersion, rawHeaders } = request;
  const headers = rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [[name, rawHeaders[index + 1]]] : []));
  const echo = {
    method,
    url,
    httpVersion,
    headers,
    body: textOrNull(body),
    bodyBase64: body.toString('base64'),
    bodyBytes: body.length,
  };
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(`${JSON.stringify(echo, null, 2)}\n`);
}

function textOrNull(body: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return null;
  }
}

/** Beginning, filling and end of each form of the reply, which together have exactly the requested size. */
const forms = {
  text: { type: 'text/plain; charset=utf-8', start: '', fill: 'x', end: '' },
  json: { type: 'application/json', start: '{"filler":"', fill: 'x', end: '"}' },
  binary: { type: 'application/octet-stream', start: '', fill: '\u{FF}', end: '' },
} as const;

/** Streams a reply of exactly `size` bytes, at most 4 GiB, without holding it in memory. */
export async function answerBytes(query: URLSearchParams, response: ServerResponse): Promise<void> {
  const size = Number(query.get('size') ?? '1024');
  const form = Object.entries(forms).find(([name]) => name === (query.get('as') ?? 'text'))?.[1];
  if (form === undefined || !Number.isInteger(size) || size < form.start.length + form.end.length || size > sizeLimit) {
    const problem = 'size must be a whole number up to 4 GiB (at least 13 for as=json); as is text, json or binary';
    response.writeHead(400, { 'Content-Type': 'text/plain' }).end(`${problem}\n`);
    return;
  }
  const isChunked = query.get('framing') === 'chunked';
  response.writeHead(200, { 'Content-Type': form.type, ...(isChunked ? {} : { 'Content-Length': String(size) }) });
  await pipeline(Readable.from(pieces(form, size), { objectMode: false }), response);
}

function* pieces({ start, fill, end }: (typeof forms)[keyof typeof forms], size: number): Generator<Buffer> {
  if (start !== '') yield Buffer.from(start);
  const piece = Buffer.alloc(pieceLength, fill, 'latin1');
  for (let left = size - start.length - end.length; left > 0; left -= piece.length) {
    yield left >= piece.length ? piece : piece.subarray(0, left);
  }
  if (end !== '') yield Buffer.from(end);
}
