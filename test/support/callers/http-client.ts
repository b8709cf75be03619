import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { headerValues, type Message, MessageReader } from './message-reader.ts';

/** A reply of the gateway, as read from the connection. */
export interface Reply {
  readonly status: number;
  readonly head: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
  readonly text: string;
  /** False where the connection ended before the end of the body. */
  readonly complete: boolean;
  header(name: string): string | undefined;
  /** The parsed body; the test gives its type. */
  json(): unknown;
}

export interface Request {
  readonly method?: string;
  /** The request target, sent unchanged. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
}

/** A connection to the gateway that sends exact bytes and reads replies one after the other. */
export interface Connection {
  readonly socket: Socket;
  write(bytes: string | Buffer): void;
  /** The next reply, complete or not; undefined where the connection ends without one. */
  reply(): Promise<Reply | undefined>;
  /** Resolves once the gateway has closed the connection. */
  closed(): Promise<void>;
  readonly interim: readonly number[];
}

/** Opens a raw connection to 127.0.0.1; the caller destroys its socket. */
export async function openConnection(port: number): Promise<Connection> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const reader = new MessageReader('reply');
  const replies: (Reply | undefined)[] = [];
  const waiting: ((reply: Reply | undefined) => void)[] = [];
  let ended = false;
  const deliver = (message: Message | undefined): void => {
    const reply = message === undefined ? undefined : toReply(message);
    const next = waiting.shift();
    if (next === undefined) replies.push(reply);
    else next(reply);
  };
  const end = (): void => {
    if (ended) return;
    ended = true;
    const last = reader.end();
    if (last !== undefined) deliver(last);
    while (waiting.length > 0) deliver(undefined);
  };
  socket.on('data', (data: Buffer) => {
    for (const message of reader.push(data)) deliver(message);
  });
  socket.on('error', () => undefined);
  // The end of the stream ends a reply without Content-Length; a reset does not.
  socket.on('end', end);
  socket.on('close', end);
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  return {
    socket,
    write: (bytes) => void socket.write(bytes),
    reply: () => {
      const ready = replies.shift();
      if (ready !== undefined || ended) return Promise.resolve(ready);
      return new Promise((resolve) => waiting.push(resolve));
    },
    closed: async () => {
      if (!socket.closed) await once(socket, 'close');
    },
    get interim() {
      return reader.interim;
    },
  };
}

/** Sends exact bytes on a connection of its own and reads the one reply; rejects where the connection ends without any. */
export async function sendBytes(port: number, ...parts: readonly (string | Buffer)[]): Promise<Reply> {
  const connection = await openConnection(port);
  try {
    for (const part of parts) connection.write(part);
    const reply = await connection.reply();
    if (reply === undefined) throw new Error('the connection ended without a reply');
    return reply;
  } finally {
    connection.socket.destroy();
  }
}

/** The bytes of a request; `Host`, `Content-Length` and `Connection: close` are added where `headers` does not name them. */
export function requestBytes(port: number, { method = 'GET', target, headers = {}, body }: Request): Buffer {
  const bytes = body === undefined ? undefined : Buffer.from(body);
  const named = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const lines = [`${method} ${target} HTTP/1.1`];
  if (!named.has('host')) lines.push(`Host: 127.0.0.1:${port}`);
  if (!named.has('connection')) lines.push('Connection: close');
  if (bytes !== undefined && !named.has('content-length') && !named.has('transfer-encoding')) {
    lines.push(`Content-Length: ${bytes.length}`);
  }
  for (const [name, value] of Object.entries(headers)) {
    for (const one of typeof value === 'string' ? [value] : value) lines.push(`${name}: ${one}`);
  }
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), bytes ?? Buffer.alloc(0)]);
}

/** One request on a connection of its own. */
export function send(port: number, request: Request): Promise<Reply> {
  return sendBytes(port, requestBytes(port, request));
}

function toReply(message: Message): Reply {
  const text = message.body.toString('utf8');
  return {
    status: Number(message.startLine.split(' ')[1]),
    head: message.head,
    headers: message.headers,
    body: message.body,
    text,
    complete: message.complete,
    header: (name) => {
      const values = headerValues(message.headers, name);
      return values.length === 0 ? undefined : values.join(', ');
    },
    json: () => JSON.parse(text) as unknown,
  };
}
