import type { ServerResponse } from 'node:http';
import { endReply, writePiece } from './connections/slow-reader.ts';
import { problemReply, writeHead } from './problem.ts';
import type { RenderedReply } from './rendering/rendering.ts';
import type { RequestScope, ServedRequest } from './request-scope.ts';
import type { RouteReply } from './route.ts';

/** Writes a reply. Returns a promise only where the reply is written piece by piece. */
export function writeReply({ raw, response, scope }: ServedRequest, answer: RouteReply): Promise<void> | undefined {
  if (answer.kind === 'relayed') return writeRelayed(response, answer, scope);
  if (answer.kind === 'problem') return writeProblem(response, answer, scope);
  const headOnly = raw.method === 'HEAD';
  if (answer.kind === 'streamed') return writePieces(response, answer, scope, headOnly);
  const { mediaType = jsonType, body } = answer.kind === 'json' ? { body: JSON.stringify(answer.value) } : answer;
  const content = body === undefined ? {} : { 'Content-Type': mediaType, 'Content-Length': String(Buffer.byteLength(body)) };
  writeHead(response, answer.status, scope, Object.entries({ ...content, ...answer.headers }).flat());
  endReply(response, headOnly ? '' : (body ?? ''));
  return undefined;
}

const jsonType = 'application/json; charset=utf-8';

/** A whole reply is one write. A longer one is written as it arrives, as fast as the caller reads, and a fault aborts it. */
function writeRelayed(response: ServerResponse, reply: RenderedReply, scope: RequestScope): Promise<void> | undefined {
  const { headers, rest } = reply;
  if (rest === undefined) {
    const length = String(reply.head.length);
    writeHead(response, 200, scope, ['Content-Type', jsonType, 'Content-Length', length, ...headers]);
    endReply(response, reply.head);
    return undefined;
  }
  writeHead(response, 200, scope, ['Content-Type', jsonType, ...headers]);
  return writeAll(response, reply.head, rest);
}

function writeProblem(
  response: ServerResponse,
  { error, requestId, headers }: Extract<RouteReply, { readonly kind: 'problem' }>,
  scope: RequestScope,
): undefined {
  const problem = problemReply({ error, requestId, publicPath: scope.publicPath });
  writeHead(response, problem.status, scope, Object.entries({ ...problem.headers, ...headers }).flat());
  endReply(response, problem.body);
}

async function writeAll(response: ServerResponse, head: Buffer, rest: AsyncIterable<Buffer>): Promise<void> {
  await writePiece(response, head);
  for await (const chunk of rest) await writePiece(response, chunk);
}

async function writePieces(
  response: ServerResponse,
  { headers = {}, mediaType, pieces }: Extract<RouteReply, { readonly kind: 'streamed' }>,
  scope: RequestScope,
  headOnly: boolean,
): Promise<void> {
  if (headOnly) {
    // return() on a generator that has not begun skips its `finally`: it would release nothing.
    await pieces.next();
    await pieces.return();
  }
  writeHead(response, 200, scope, Object.entries({ 'Content-Type': mediaType, ...headers }).flat());
  for await (const piece of pieces) await writePiece(response, piece);
}
