import type { Clock } from '#base/clock.ts';

export interface OutboundCall {
  /** `scheme://host[:port]`. */
  readonly origin: string;
  /** Visible ASCII, sent unchanged. */
  readonly path: string;
  readonly method: 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT';
  /** Alternating names and values, without framing headers. */
  readonly headers: readonly string[];
  readonly body?: Buffer | undefined;
  /** The id of the principal whose connections the call may use. Undefined: all share them, as upstreams know the gateway alone. */
  readonly caller?: string | undefined;
  /** True for every method but GET. */
  readonly stateChanging: boolean;
  /** Milliseconds; 0 means no limit. */
  readonly timeouts: { readonly firstByte: number; readonly idle: number };
  /** Decoded bytes. */
  readonly responseLimit: number;
  /** The reply has its head alone, all of its body is `rest`, and it may be an event stream. */
  readonly asItComes?: boolean | undefined;
}

/** In lower case. A repeated header has an array. */
export type ReplyHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface UpstreamReply {
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** The whole body where `rest` is undefined, else exactly its first 64 KiB; empty with `asItComes`. Decoded. */
  readonly head: Buffer;
  /** To be read once. Throws a GatewayError when the reply breaks off or exceeds its limit. */
  readonly rest: AsyncIterable<Buffer> | undefined;
  /** Closes the connection of a reply that is not read to its end. */
  discard(): void;
}

/** Bytes; a longer reply streams. */
export const wholeReplyLimit = 65_536;

/** Joined with `, ` (RFC 9110 5.3). */
export function headerValue(headers: ReplyHeaders, name: string): string | undefined {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return value === undefined || typeof value === 'string' ? value : value.join(', ');
}

/** A repeated query and each hop of a redirect are attempts of their own. */
export interface AttemptWatcher {
  /** Called before it is sent, or waits for its connection. */
  begin(call: OutboundCall): Attempt;
}

/** Exactly one of `replied` and `failed` is called, once. */
export interface Attempt {
  /** Replace those of the call: their `traceparent` names this attempt. */
  readonly headers: readonly string[];
  /** Complete, or its first 64 KiB. */
  replied(status: number): void;
  failed(failure: unknown): void;
}

/** Basic authentication in UTF-8 (RFC 7617 2.1). */
export function basicCredentials(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
}

/** Milliseconds of Retry-After: seconds or an IMF-fixdate (RFC 9110, section 10.2.3); 0 for any other value. */
export function retryAfter(headers: ReplyHeaders, clock: Clock): number {
  const value = headerValue(headers, 'retry-after');
  if (value === undefined) return 0;
  if (/^\d{1,9}$/u.test(value)) return Number(value) * 1000;
  const at = /^\w{3}, \d{2} \w{3} \d{4} [\d:]{8} GMT$/u.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? 0 : Math.max(0, at - clock.now());
}
