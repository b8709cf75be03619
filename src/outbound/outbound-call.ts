/** One HTTP request to a far side, ready to be sent. All decisions about it have been made. */
export interface OutboundCall {
  /** `scheme://host[:port]`. */
  readonly origin: string;
  /** Path and query in visible ASCII, sent unchanged. */
  readonly path: string;
  readonly method: 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT';
  /** Alternating names and values, without framing headers. */
  readonly headers: readonly string[];
  readonly body?: Buffer | undefined;
  /** The id of the principal whose connections the call may use. Undefined: far sides know the gateway alone, and all share them. */
  readonly caller?: string | undefined;
  /** True for every method but GET: sent twice, the request could change something twice. */
  readonly stateChanging: boolean;
  /** Milliseconds; 0 means no limit. The total limit belongs to the CallScope. */
  readonly timeouts: { readonly firstByte: number; readonly idle: number };
  /** The most bytes that the decoded body of the reply may have. */
  readonly responseLimit: number;
  /** True: the reply comes with its head alone, all of its body is `rest`, and it may be an event stream, which need not end. */
  readonly asItComes?: boolean | undefined;
}

/** Names are in lower case. The values of a repeated header are an array. */
export type ReplyHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The reply of a far side. */
export interface FarSideReply {
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** The whole body where `rest` is undefined, otherwise exactly its first 64 KiB; empty with `asItComes`. Without content codings. */
  readonly head: Buffer;
  /** The body after `head`, to be read once, as it arrives. Throws a GatewayError when the reply breaks off or exceeds its limit. */
  readonly rest: AsyncIterable<Buffer> | undefined;
  /** For a reply that is not read to its end: closes the connection. */
  discard(): void;
}

/** A reply of at most this many bytes is rendered as a whole and written at once; a longer one streams. */
export const wholeReplyLimit = 65_536;

/** The value of a header; repeated ones are joined with `, ` (RFC 9110 5.3). */
export function headerValue(headers: ReplyHeaders, name: string): string | undefined {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return value === undefined || typeof value === 'string' ? value : value.join(', ');
}
