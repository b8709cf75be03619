import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { headerValues, MessageReader } from '../callers/message-reader.ts';
import { listening } from '../listen.ts';
import type { Owner } from '../owner.ts';

/** A request as the upstream read it, byte for byte. */
export interface FarRequest {
  readonly method: string;
  readonly target: string;
  readonly head: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
  /** The number of the connection, from 1; the requests of one connection share it. */
  readonly connection: number;
  /** All values of a header joined with `, `, or undefined where it was not sent. */
  header(name: string): string | undefined;
}

/** Answers one request: its result is written unchanged; it may also write to the socket, destroy the socket, or do nothing. */
export type FarHandler = (request: FarRequest, socket: Socket) => FarAnswer | Promise<FarAnswer>;
type FarAnswer = Buffer | string | undefined | void;

/** A server on loopback whose handler answers in exact bytes, and may violate HTTP in any way. */
export interface Upstream {
  readonly port: number;
  /** `127.0.0.1:PORT`, an entry for `outbound.allow`. */
  readonly authority: string;
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** Every request since the last `answer`, in the order of arrival. */
  readonly requests: readonly FarRequest[];
  /** Connections accepted since the last `answer`. */
  readonly connections: number;
  /** The only request since the last `answer`; throws where there were none or several. */
  readonly request: FarRequest;
  /** Sets the handler for requests from now on, and forgets the recorded requests and connections. */
  answer(handler: FarHandler): void;
  /** Sets a handler for each new connection, which runs before a byte is read. */
  onConnection(handler: ((socket: Socket) => void) | undefined): void;
  close(): Promise<void>;
}

interface ReplyParts {
  readonly status?: number;
  readonly reason?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
  /** Where given, the body is chunked, with so many bytes in a chunk. */
  readonly chunk?: number;
}

/** The bytes of a well-formed HTTP/1.1 reply; with neither body nor headers it is an empty 200. */
export function httpReply({ status = 200, reason = 'X', headers = {}, body = '', chunk }: ReplyParts = {}): Buffer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const lines = [`HTTP/1.1 ${status} ${reason}`];
  for (const [name, value] of Object.entries(headers)) {
    for (const one of typeof value === 'string' ? [value] : value) lines.push(`${name}: ${one}`);
  }
  if (chunk !== undefined) lines.push('Transfer-Encoding: chunked');
  else if (status !== 204 && status !== 304) lines.push(`Content-Length: ${bytes.length}`);
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return Buffer.concat(chunk === undefined ? [head, bytes] : [head, chunked(bytes, chunk)]);
}

/** A reply whose body is exactly this JSON text. */
export function jsonReply(
  text: string,
  { type = 'application/json', ...parts }: ReplyParts & { readonly type?: string } = {},
): Buffer {
  return httpReply({ ...parts, headers: { 'Content-Type': type, ...parts.headers }, body: text });
}

/** The root resource of a RESTCONF server (RFC 8040, section 3.3). */
export function restconfRoot(): Buffer {
  const root = '{"ietf-restconf:restconf":{"data":{},"operations":{},"yang-library-version":"2019-01-04"}}';
  return jsonReply(root, { type: 'application/yang-data+json' });
}

/** `bytes` in the chunked transfer coding, `size` bytes in a chunk, with the last chunk. */
function chunked(bytes: Buffer, size: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    const piece = bytes.subarray(at, at + size);
    parts.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
  }
  parts.push(Buffer.from('0\r\n\r\n'));
  return Buffer.concat(parts);
}

/** Starts an upstream on a free port of 127.0.0.1; without a handler it answers an empty JSON object. */
export async function upstream(owner: Owner, handler?: FarHandler): Promise<Upstream> {
  const state = new State(handler ?? (() => jsonReply('{}')));
  const server = createServer((socket) => state.accept(socket));
  const port = await listening(server);
  const close = (): Promise<void> => state.close(server);
  owner.after(close);
  return {
    port,
    authority: `127.0.0.1:${port}`,
    url: `http://127.0.0.1:${port}`,
    get requests() {
      return state.requests;
    },
    get connections() {
      return state.connections;
    },
    get request() {
      const [first, ...others] = state.requests;
      if (first === undefined || others.length > 0) throw new Error(`expected one request, saw ${state.requests.length}`);
      return first;
    },
    answer: (next) => state.answer(next),
    onConnection: (next) => {
      state.connected = next;
    },
    close,
  };
}

/** A port of 127.0.0.1 without a listener. It is privileged, so that the system gives it to no test that runs at the same time. */
export async function closedPort(): Promise<number> {
  for (;;) {
    // The Fetch standard blocks some ports of the 600s and 900s.
    const port = 700 + Math.floor(Math.random() * 200);
    if (await isRefused(port)) return port;
  }
}

/** A free port of 127.0.0.1, unless another process listens on it first. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listening(server);
  server.close();
  await once(server, 'close');
  return port;
}

function isRefused(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', () => resolve(true));
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
  });
}

class State {
  requests: FarRequest[] = [];
  connections = 0;
  connected: ((socket: Socket) => void) | undefined;
  #handler: FarHandler;
  #count = 0;
  readonly #sockets = new Set<Socket>();

  constructor(handler: FarHandler) {
    this.#handler = handler;
  }

  answer(handler: FarHandler): void {
    this.#handler = handler;
    this.requests = [];
    this.connections = 0;
  }

  accept(socket: Socket): void {
    this.connections += 1;
    this.#count += 1;
    const connection = this.#count;
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => undefined);
    socket.setNoDelay(true);
    this.connected?.(socket);
    const reader = new MessageReader('request');
    socket.on('data', (data: Buffer) => {
      for (const message of reader.push(data)) {
        const [method = '', target = ''] = message.startLine.split(' ');
        const { head, headers, body } = message;
        const header = (name: string): string | undefined =>
          headerValues(headers, name).length === 0 ? undefined : headerValues(headers, name).join(', ');
        const request: FarRequest = { method, target, head, headers, body, connection, header };
        this.requests.push(request);
        void this.#respond(request, socket);
      }
    });
  }

  async #respond(request: FarRequest, socket: Socket): Promise<void> {
    const answer = await this.#handler(request, socket);
    if (answer !== undefined && !socket.destroyed) socket.write(answer);
  }

  async close(server: Server): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  }
}
