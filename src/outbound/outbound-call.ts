/** One HTTP request to a far side, ready to leave: everything that was decided about it has been decided. */
export interface OutboundCall {
  /** `scheme://host[:port]`. */
  readonly origin: string;
  /** Path and query in visible ASCII, sent as they stand. */
  readonly path: string;
  readonly method: 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT';
  /** Names and values in turn, without framing headers. */
  readonly headers: readonly string[];
  readonly body?: Buffer | undefined;
  /** True where sending it twice could do something twice: anything but a GET. */
  readonly stateChanging: boolean;
  /** Milliseconds, 0 for none; the total limit is the CallScope's. */
  readonly timeouts: { readonly firstByte: number; readonly idle: number };
  /** Bytes of the decoded reply body. */
  readonly responseLimit: number;
}

/** Names in lower case; a repeated header is an array. */
export type ReplyHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What the far side answered. */
export interface FarSideReply {
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** The whole body where `rest` is undefined, otherwise exactly its first 64 KiB; content codings are removed. */
  readonly head: Buffer;
  /** What follows `head`, to be read once, as it arrives. Throws a GatewayError when the reply breaks off or grows over its limit. */
  readonly rest: AsyncIterable<Buffer> | undefined;
  /** Lets go of a reply that nobody reads to its end: the connection is closed. */
  discard(): void;
}

/** A reply up to this many bytes is judged whole and answered in one write; a longer one streams (contract 1). */
export const wholeReplyLimit = 65_536;

/** The value of a header, repeated ones joined with `, ` (RFC 9110 5.3). */
export function headerValue(headers: ReplyHeaders, name: string): string | undefined {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return value === undefined || typeof value === 'string' ? value : value.join(', ');
}
