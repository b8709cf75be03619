import type { IncomingHttpHeaders } from 'node:http';
import type { Role } from '#access/principal.ts';
import type { ErrorCode } from '#base/error-codes.ts';
import type { GatewayError, RequestProblem } from '#base/gateway-error.ts';
import type { JsonSchema } from '#base/json-schema.ts';
import type { CallContext } from '#calls/call-context.ts';
import type { RelayReply } from '#relay/relay-reply.ts';
import type { CallOperation } from '#relay/relayed-call.ts';

/** Who may call a route: anybody, anybody who is known, or the holders of one of the roles. */
export type RouteAccess = 'everyone' | 'callers' | readonly Role[];

/** One route, stated once: the server serves it, OpenAPI and the role matrix are made from it. */
export interface Route extends RouteTraits {
  readonly method: 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT';
  /** With `:name` for path parameters. */
  readonly url: string;
  readonly access: RouteAccess;
  /** Checked before the body is read: throws a GatewayError, such as `adapter-not-found`. */
  readonly precondition?: (params: Readonly<Record<string, string>>) => void;
  readonly body?: JsonBody | FormBody | StreamBody;
  /** Names of the query parameters it takes; where absent, any query parameter is refused. */
  readonly query?: (name: string) => boolean;
  /** Takes an Idempotency-Key; `headers` are those of the caller's that belong to the payload, by their names in lower case. */
  readonly idempotency?: { readonly headers: readonly string[] };
  /** Writes errors in the shape of another standard than RFC 9457. */
  readonly errorShape?: ErrorShape;
  readonly handle: (request: RouteRequest) => Promise<RouteReply> | RouteReply;
  /** The call that it relays; calls are counted by their outcome. */
  readonly operation?: CallOperation;
  readonly docs: RouteDocs;
}

/** What the front door does with every request of a route; nothing else decides that. */
export interface RouteTraits {
  /** Refused with 503 `overloaded` while the gateway is under pressure. Monitoring and documentation are not. */
  readonly sheddable: boolean;
  /** Takes one of the places for requests that are worked on at once, until its reply ends. A stream that lasts for hours takes none. */
  readonly holdsPlace: boolean;
  /**
   * When it counts against `server.rateLimit`. `judged`: its handler calls `count` once the request is known to be sound (for a relayed
   * call the call path does it). `admitted`: as soon as its body is read.
   */
  readonly counted: 'admitted' | 'judged' | 'never';
  /** Each request goes on record in the audit log. False: only a request that is refused for who asked (401, 403) does. */
  readonly recorded: boolean;
}

export interface JsonBody {
  readonly kind: 'json';
  /** Where absent, `application/json`. */
  readonly mediaType?: string;
  /** Bytes; where absent, `server.requestBodyLimit`. */
  readonly limit?: number;
  readonly schema: JsonSchema;
  /** RFC 6901 pointers of members that are relayed as their exact bytes. */
  readonly opaque?: readonly string[];
  /** Finds the problems that the schema cannot say; members of a wrong type are passed over. */
  readonly judge?: (body: unknown, spans: ReadonlyMap<string, Buffer>) => Judgement;
  /** Where `schema` is a union: its members, and which of them a body is judged by, so that its problems speak of that one alone. */
  readonly variants?: { readonly schemas: readonly JsonSchema[]; readonly choose: (body: unknown) => JsonSchema };
}

export interface Judgement {
  readonly problems: readonly RequestProblem[];
  /** What the judge read of the body on its way, for the handler (`RouteRequest.judged`), so that it is read once. */
  readonly judged?: unknown;
}

/** How a route words its errors where another standard than RFC 9457 says so; the statuses and headers stay. */
export interface ErrorShape {
  readonly mediaType: string;
  readonly schema: JsonSchema;
  readonly write: (error: GatewayError) => string;
}

interface FormBody {
  readonly kind: 'form';
  /** Bytes. */
  readonly limit: number;
  /** For the documentation only: the reader of the form judges it. */
  readonly schema: JsonSchema;
}

/** A body that is not held: its handler reads it as it arrives (`RouteRequest.body` is an AsyncIterable of Buffers), however long it is. */
interface StreamBody {
  readonly kind: 'stream';
  readonly mediaType: 'application/x-ndjson';
  /** For the documentation only. */
  readonly schema: JsonSchema;
}

export interface RouteRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** Fits the route's schema where it has one; for a form its text. */
  readonly body: unknown;
  /** The exact bytes of the opaque members that the caller gave. */
  readonly spans: ReadonlyMap<string, Buffer>;
  /** What the `judge` of its body read. */
  readonly judged: unknown;
  readonly sourceAddress: string;
  readonly context: CallContext;
  /** Counts the request against `server.rateLimit` (`counted: 'judged'`). Throws 429 where its caller has no call left. */
  readonly count: () => void;
}

export type RouteReply =
  | RelayReply
  | { readonly kind: 'streamed'; readonly mediaType: string; readonly pieces: AsyncGenerator<Buffer, void, undefined> }
  | {
      readonly kind: 'plain';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** Default `application/json; charset=utf-8`. */
      readonly mediaType?: string;
      readonly body?: string;
    };

/** The media type that the body of a route has. */
export function bodyMediaType(body: NonNullable<Route['body']>): string {
  if (body.kind === 'form') return 'application/x-www-form-urlencoded';
  return body.mediaType ?? 'application/json';
}

/** A JSON answer. */
export function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): RouteReply {
  return { kind: 'plain', status, headers, body: JSON.stringify(value) };
}

/** What OpenAPI and /docs say of a route beside its schemas. */
export interface RouteDocs {
  /** OpenAPI's tag. */
  readonly tag: 'relay' | 'automations' | 'access' | 'operations';
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** Header parameters it reads, by name. */
  readonly requestHeaders?: readonly { readonly name: string; readonly description: string }[];
  readonly pathParameters?: Readonly<Record<string, string>>;
  readonly queryParameters?: readonly { readonly name: string; readonly description: string; readonly schema: JsonSchema }[];
  readonly success: {
    readonly status: number;
    readonly description: string;
    readonly mediaType?: string;
    readonly schema?: JsonSchema;
    /** Headers beside X-Request-Id, by name. */
    readonly headers?: Readonly<Record<string, string>>;
  };
  /** Other replies that are no errors and have no body, such as 304. */
  readonly otherReplies?: readonly {
    readonly status: number;
    readonly description: string;
    readonly headers?: Readonly<Record<string, string>>;
  }[];
  /** The codes of the error table it can answer with, beside those that follow from the route's own properties (openapi-errors.ts). */
  readonly errors: readonly ErrorCode[];
  /** Errors in another shape than problem+json, where another standard asks for one. */
  readonly otherErrors?: readonly OtherError[];
  readonly example?: RouteExample;
}

interface OtherError {
  readonly status: number;
  readonly description: string;
  readonly schema: JsonSchema;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One call and its reply, shown in the documentation; a test holds both against the schemas. */
interface RouteExample {
  /** Values of the path parameters, not encoded. */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly request?: unknown;
  readonly reply?: unknown;
}
