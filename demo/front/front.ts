import { Buffer } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { OrchestratorError } from '../model/orchestrator-error.ts';
import type { Orchestrator } from '../model/transaction.ts';
import type { AssertionVerifier } from './assertions.ts';
import { answerBytes, answerDescription, answerEcho } from './demo-resources.ts';
import { emptyReply, type Reply, type Request, type User } from './exchange.ts';
import { answerLegacy, isLegacyPath } from './legacy.ts';
import { legacyErrorReply } from './legacy-reply.ts';
import { answerRestconf } from './restconf.ts';
import { restconfErrorReply } from './restconf-reply.ts';

const bodyLimit = 16 * 1024 * 1024;

/** A header of every reply, so that no client takes this server for Cisco NSO. */
const standIn = { 'X-Demo-Orchestrator': 'a stand-in for trials and tests, not Cisco NSO' } as const;

const commonHeaders = {
  'Cache-Control': 'private, no-cache, must-revalidate, proxy-revalidate',
  Pragma: 'no-cache',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
} as const;

interface KnownUser extends User {
  readonly password: string;
}

interface FrontOptions {
  readonly orchestrator: Orchestrator;
  readonly users: readonly KnownUser[];
  /** Absent: it accepts no assertions. */
  readonly verifier?: AssertionVerifier | undefined;
  readonly traceIds: () => string;
}

/** Makes the request listener: the demo's own open resources, then Basic authentication, then the two dialects. Never rejects. */
export function createFront(options: FrontOptions): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (message, response) => {
    try {
      for (const [name, value] of Object.entries(standIn)) response.setHeader(name, value);
      await answer(options, message, response);
    } catch {
      // The client left, or this server has a bug. A reply that has begun must not look complete.
      if (response.headersSent || response.destroyed) response.destroy();
      else
        response.writeHead(500, { 'Content-Type': 'text/plain' }).end('the demo orchestrator failed: this is a bug in demo/\n');
    }
  };
}

async function answer(options: FrontOptions, message: IncomingMessage, response: ServerResponse): Promise<void> {
  const { path, query } = splitTarget(message.url ?? '/');
  const body = await readBody(message);
  if (path === '/' || path === '/demo') return answerDescription(response);
  if (path === '/demo/bytes') return answerBytes(new URLSearchParams(query), response);
  if (path === '/demo/echo' || path.startsWith('/demo/echo/')) return answerEcho(message, body ?? Buffer.alloc(0), response);
  await answerKnownUser(options, { message, path, query, body }, response);
}

interface Received {
  readonly message: IncomingMessage;
  readonly path: string;
  readonly query: string;
  /** Undefined where it was too large. */
  readonly body: Buffer | undefined;
}

async function answerKnownUser(
  options: FrontOptions,
  { message, path, query, body }: Received,
  response: ServerResponse,
): Promise<void> {
  const { method = 'GET', headers } = message;
  const user = await authenticate(options, message);
  const request = {
    method,
    path,
    query,
    headers,
    body: body?.toString('utf8') ?? '',
    user: user ?? { name: '', rights: 'none' as const },
  };
  const common = { ...commonHeaders, ...traceHeaders(options, request) };
  if (user === undefined) send(response, challenge(request), common);
  else send(response, body === undefined ? tooLarge(request) : dispatch(options, request), common);
}

function dispatch({ orchestrator }: FrontOptions, request: Request): Reply {
  const { path } = request;
  if (path === '/.well-known/host-meta') return hostMeta();
  if (path === '/demo/lock' || path === '/demo/unlock') return setLock(orchestrator, request, path === '/demo/lock');
  if (path === '/restconf' || path.startsWith('/restconf/')) return answerRestconf(orchestrator, request);
  if (isLegacyPath(path)) return answerLegacy(orchestrator, request);
  return emptyReply(404);
}

/** The root of RESTCONF (RFC 8040, 3.1). */
function hostMeta(): Reply {
  const body = '<XRD xmlns="http://docs.oasis-open.org/ns/xri/xrd-1.0">\n  <Link rel="restconf" href="/restconf"/>\n</XRD>\n';
  return { status: 200, headers: { 'Content-Type': 'application/xrd+xml' }, body };
}

function setLock({ datastore }: Orchestrator, { method, user }: Request, locked: boolean): Reply {
  if (method !== 'POST') return emptyReply(405, { Allow: 'POST' });
  if (user.rights !== 'all') return emptyReply(403);
  datastore.locked = locked;
  return emptyReply(204);
}

async function authenticate({ users, verifier }: FrontOptions, { headers, socket }: IncomingMessage): Promise<User | undefined> {
  const source = { address: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 };
  const token = headers['x-auth-token'];
  if (typeof token === 'string' && verifier !== undefined) return await verifier.byToken(token, source);
  const login = loginIn(headers.authorization);
  if (login === undefined) return undefined;
  const { name, password } = login;
  return (
    users.find((one) => one.name === name && one.password === password) ?? (await verifier?.byPassword(name, password, source))
  );
}

function loginIn(authorization = ''): { readonly name: string; readonly password: string } | undefined {
  const [, encoded = ''] = /^basic +([A-Za-z0-9+/=]+)$/iu.exec(authorization) ?? [];
  const [, name, password] = /^([^:]*):(.*)$/su.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? [];
  return name === undefined || password === undefined ? undefined : { name, password };
}

function challenge(request: Request): Reply {
  const isLegacy = isLegacyPath(request.path);
  const headers = { 'WWW-Authenticate': `Basic realm="${isLegacy ? 'rest' : 'restconf'}"` };
  const error = new OrchestratorError({ status: 401, tag: 'access-denied', type: 'protocol', headers });
  return isLegacy ? legacyErrorReply(error, request) : restconfErrorReply(error, request);
}

function tooLarge(request: Request): Reply {
  const message = `the request body is larger than ${String(bodyLimit)} bytes`;
  const error = new OrchestratorError({ status: 413, tag: 'too-big', message, type: 'protocol' });
  return isLegacyPath(request.path) ? legacyErrorReply(error, request) : restconfErrorReply(error, request);
}

/** The trace id of a RESTCONF reply: the client's (W3C `traceparent`, or the older `trace-id`), or a new one. */
function traceHeaders({ traceIds }: FrontOptions, { path, query, headers }: Request): Readonly<Record<string, string>> {
  if (isLegacyPath(path)) return {};
  const traceparent = typeof headers['traceparent'] === 'string' ? headers['traceparent'] : undefined;
  const continued = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/u.exec(traceparent ?? '')?.[1];
  const asked = /(?:^|&)trace-id=([\w.-]{1,128})(?:&|$)/u.exec(query)?.[1];
  return {
    'X-Cisco-NSO-Trace-ID': continued ?? asked ?? traceIds(),
    ...(continued === undefined || traceparent === undefined ? {} : { traceparent }),
  };
}

function splitTarget(url: string): { readonly path: string; readonly query: string } {
  const at = url.indexOf('?');
  return at < 0 ? { path: url, query: '' } : { path: url.slice(0, at), query: url.slice(at + 1) };
}

/** The whole body, or undefined where it is over the limit; bytes over the limit are read and dropped. */
async function readBody(message: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= bodyLimit) chunks.push(chunk);
  }
  return length > bodyLimit ? undefined : Buffer.concat(chunks);
}

function send(response: ServerResponse, reply: Reply, common: Readonly<Record<string, string>>): void {
  const body = Buffer.from(reply.body, 'utf8');
  const hasBody = reply.status !== 204 && reply.status !== 304;
  response.writeHead(reply.status, {
    ...common,
    ...reply.headers,
    ...(hasBody ? { 'Content-Length': String(body.length) } : {}),
  });
  response.end(hasBody ? body : undefined);
}
