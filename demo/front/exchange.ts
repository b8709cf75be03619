import type { IncomingHttpHeaders } from 'node:http';

/** An authenticated request with its whole body. */
export interface Request {
  readonly method: string;
  /** The path as received, not decoded. */
  readonly path: string;
  /** The query string as received, without its `?`. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly user: User;
}

/** `operate`: services, and actions that bring a device and its configuration together. */
export type Rights = 'all' | 'operate' | 'read' | 'none';

export interface User {
  readonly name: string;
  readonly rights: Rights;
}

const operated = /^\/restconf\/(?:data|operations)\/(?:l3vpn:vpn(?:\/|$)|.*\/(?:check-sync|compare-config|sync-from)$)/u;

/** Like NACM. `path`: as received. */
export function mayUse({ method, path, user: { rights } }: Pick<Request, 'method' | 'path' | 'user'>): boolean {
  if (rights === 'all') return true;
  if (isRead(method)) return rights !== 'none';
  return rights === 'operate' && operated.test(path);
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A reply without a body; NSO sends a Content-Type (`text/html`) even then. */
export function emptyReply(status: number, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status, headers: { 'Content-Type': 'text/html; charset=UTF-8', ...headers }, body: '' };
}

/** The value of a request header that occurs once; undefined where it is absent. */
export function headerOf({ headers }: Pick<Request, 'headers'>, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** The origin that the client used for this server, for `Location`. */
export function originOf(request: Request): string {
  return `http://${headerOf(request, 'host') ?? 'localhost'}`;
}

export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}
