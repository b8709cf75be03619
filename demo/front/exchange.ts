import type { IncomingHttpHeaders } from 'node:http';

/** A request whose sender is known and whose body has been read whole. */
export interface Request {
  readonly method: string;
  /** The path as it came, not decoded. */
  readonly path: string;
  /** The query string as it came, without its `?`. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly user: User;
}

export interface User {
  readonly name: string;
  readonly mayWrite: boolean;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A reply without a body; NSO gives even that a type (`text/html`). */
export function emptyReply(status: number, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status, headers: { 'Content-Type': 'text/html; charset=UTF-8', ...headers }, body: '' };
}

/** The value of a request header that is sent once; undefined where it is absent. */
export function headerOf({ headers }: Pick<Request, 'headers'>, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** The address by which the client reached this server, for `Location`. */
export function originOf(request: Request): string {
  return `http://${headerOf(request, 'host') ?? 'localhost'}`;
}

export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}
