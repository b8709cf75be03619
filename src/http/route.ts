import type { IncomingHttpHeaders } from 'node:http';
import { isOperation, type Operation, type OperationAccess, operations } from '#access/operations.ts';
import type { Principal } from '#access/principal.ts';
import type { ErrorCode } from '#base/error-codes.ts';
import type { GatewayError, RequestProblem } from '#base/gateway-error.ts';
import type { JsonSchema } from '#base/json-schema.ts';
import type { LimitReached } from '#base/limits.ts';
import type { CallContext } from '#calls/call-context.ts';
import type { CallOperation } from '#relay/relayed-call.ts';
import type { RelayReply } from './rendering/rendering.ts';

/** One route. The server serves it; the OpenAPI document and the role matrix are made from it. */
export interface Route extends RouteTraits {
  readonly method: 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT';
  /** With `:name` for path parameters. */
  readonly url: string;
  /** Open to everyone, against the table of operations. */
  readonly open?: boolean;
  /** Checked before the body is read: throws a GatewayError, such as `adapter-not-found`. */
  readonly precondition?: (params: Readonly<Record<string, string>>, principal: Principal) => void;
  readonly body?: JsonBody | FormBody | StreamBody | DocumentBody;
  /** True for the names of the query parameters that the route takes; where absent, any query parameter is refused. */
  readonly query?: (name: string) => boolean;
  /** The route takes an Idempotency-Key. `headers`: the request headers that belong to the payload, in lower case. */
  readonly idempotency?: { readonly headers: readonly string[] };
  /** A session cookie is enough, also where the browser does not say which site the page is of: the route only takes rights away. */
  readonly onlyEnds?: true;
  /** For errors in the shape of another standard than RFC 9457. */
  readonly errorShape?: ErrorShape;
  readonly handle: (request: RouteRequest) => Promise<RouteReply> | RouteReply;
  /** The operation of a route that relays calls; they are counted by their outcome. */
  readonly operation?: CallOperation;
  readonly docs: RouteDocs;
}

/** Who may call the route without a right of its own. */
export function accessOf({ open = false, docs: { operationId } }: Pick<Route, 'open' | 'docs'>): OperationAccess {
  if (open) return 'everyone';
  return isOperation(operationId) ? operations[operationId] : [];
}

/** How the front door treats the requests of a route. */
export interface RouteTraits {
  /** Refused with 503 `overloaded` while the gateway is overloaded; false for monitoring and documentation. */
  readonly sheddable: boolean;
  /** Each request holds one of a limited number of places until its reply ends; false for a stream that lasts for hours. */
  readonly holdsPlace: boolean;
  /**
   * When a request counts against `server.rateLimit`. `judged`: its handler calls `count` once the request is valid (for a relayed
   * call the call path does it). `admitted`: as soon as its body is read.
   */
  readonly counted: 'admitted' | 'judged' | 'never';
  /** Each request goes on record in the audit log. False: only a request that is refused with 401 or 403 does. */
  readonly recorded: boolean;
}

export interface JsonBody {
  readonly kind: 'json';
  /** Where absent, `application/json`. The documentation shows the first. */
  readonly mediaTypes?: readonly string[];
  /** Bytes; where absent, `server.requestBodyLimit`. */
  readonly limit?: number;
  readonly schema: JsonSchema;
  /** RFC 6901 pointers of members that are relayed as their exact bytes. */
  readonly opaque?: readonly string[];
  /** A request without a body counts as one with `{}`, of any media type. */
  readonly optional?: boolean;
  /** Finds the problems that a schema cannot express; it ignores members of a wrong type, which the schema reports. */
  readonly judge?: (body: unknown, spans: ReadonlyMap<string, Buffer>) => Judgement;
  /** Where `schema` is a union: its members, and which of them a body is judged by, so that its problems are about that one alone. */
  readonly variants?: { readonly schemas: readonly JsonSchema[]; readonly choose: (body: unknown) => JsonSchema };
}

export interface Judgement {
  readonly problems: readonly RequestProblem[];
  /** What the judge has read of the body, for the handler (`RouteRequest.judged`), so that it is read only once. */
  readonly judged?: unknown;
}

/** How a route writes its errors by another standard than RFC 9457; the statuses and headers stay. */
export interface ErrorShape {
  readonly mediaType: string;
  readonly schema: JsonSchema;
  readonly write: (error: GatewayError) => string;
}

interface FormBody {
  readonly kind: 'form';
  /** Bytes. */
  readonly limit: number;
  /** For the documentation only: the route's handler judges the form. */
  readonly schema: JsonSchema;
}

/** A body of any length that the handler reads as it arrives: `RouteRequest.body` is an AsyncIterable of Buffers. */
interface StreamBody {
  readonly kind: 'stream';
  readonly mediaType: 'application/x-ndjson';
  /** For the documentation only. */
  readonly schema: JsonSchema;
}

/** A text that is kept as it is: `RouteRequest.body` is a Buffer with its bytes, which the route's handler judges. */
interface DocumentBody {
  readonly kind: 'document';
  /** The documentation shows the first. */
  readonly mediaTypes: readonly string[];
  /** Bytes. */
  readonly limit: number;
  /** For the documentation only. */
  readonly schema: JsonSchema;
}

export interface RouteRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** Valid by the route's schema where it has one; for a form its text, for a document its bytes. */
  readonly body: unknown;
  /** The exact bytes of the opaque members that the caller gave. */
  readonly spans: ReadonlyMap<string, Buffer>;
  /** What the `judge` of the route has read of the body. */
  readonly judged: unknown;
  readonly sourceAddress: string;
  readonly context: CallContext;
  /** The origin by which the caller reached the gateway; undefined where `Host` is none of the gateway's names. */
  readonly ownOrigin: () => string | undefined;
  /** Counts the request against `server.rateLimit` (`counted: 'judged'`). Throws 429 where its caller has used up its calls. */
  readonly count: () => void;
  /** Counts that a limit was reached (`gateway_limit_reached_total`). */
  readonly reached: LimitReached;
  /**
   * Remembers what the caller may do now. The result asks whether its credentials are still good, with the same roles, groups and rights: a
   * stream has to end otherwise.
   */
  readonly watchCaller: () => () => Promise<boolean>;
  /**
   * Calls back once when the gateway begins to stop: a stream without an end has to end then. At once where it has begun. The result takes
   * that back.
   */
  readonly whenDraining: (callback: () => void) => () => void;
}

export type RouteReply =
  | RelayReply
  | {
      readonly kind: 'streamed';
      readonly headers?: Readonly<Record<string, string>>;
      readonly mediaType: string;
      readonly pieces: AsyncGenerator<Buffer, void, undefined>;
    }
  | {
      readonly kind: 'plain';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** Default `application/json; charset=utf-8`. */
      readonly mediaType?: string;
      readonly body?: Buffer | string;
    }
  /** The error of an earlier request with the same Idempotency-Key, whose id it has. */
  | {
      readonly kind: 'problem';
      readonly error: GatewayError;
      readonly requestId: string;
      readonly headers: Readonly<Record<string, string>>;
    };

/** The media types that a route's body may have. */
export function bodyMediaTypes(body: NonNullable<Route['body']>): readonly string[] {
  if (body.kind === 'form') return ['application/x-www-form-urlencoded'];
  return body.kind === 'stream' ? [body.mediaType] : (body.mediaTypes ?? jsonAlone);
}

/** Whether a request may leave the body out. */
export function isOptional(body: NonNullable<Route['body']>): boolean {
  return body.kind === 'json' && body.optional === true;
}

const jsonAlone = ['application/json'];

/** A JSON answer. */
export function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): RouteReply {
  return { kind: 'plain', status, headers, body: JSON.stringify(value) };
}

/** What OpenAPI and /docs say about a route in addition to its schemas. */
export interface RouteDocs {
  /** OpenAPI's tag. */
  readonly tag: 'relay' | 'automations' | 'workflows' | 'forms' | 'runs' | 'approvals' | 'access' | 'operations';
  /** Says who may call the route. A path: a page of the console, which is no operation. */
  readonly operationId: Operation | `/${string}`;
  readonly summary: string;
  readonly description?: string;
  /** Request headers that the route reads. */
  readonly requestHeaders?: readonly { readonly name: string; readonly description: string }[];
  readonly pathParameters?: Readonly<Record<string, string>>;
  readonly queryParameters?: readonly { readonly name: string; readonly description: string; readonly schema: JsonSchema }[];
  readonly success: {
    readonly status: number;
    readonly description: string;
    readonly mediaType?: string;
    /** Of the same value in other forms. */
    readonly otherMediaTypes?: readonly string[];
    readonly schema?: JsonSchema;
    /** Headers in addition to X-Request-Id, by name. */
    readonly headers?: Readonly<Record<string, string>>;
  };
  /** Other replies without error, such as 304. `sameBody`: with the body of `success`; otherwise without one. */
  readonly otherReplies?: readonly {
    readonly status: number;
    readonly description: string;
    readonly sameBody?: true;
    readonly headers?: Readonly<Record<string, string>>;
  }[];
  /** Error codes of the route, in addition to those that follow from its properties (openapi-errors.ts). */
  readonly errors: readonly ErrorCode[];
  /** Of codes that have another status here than in the table of codes. */
  readonly statuses?: Readonly<Partial<Record<ErrorCode, number>>>;
  /** Errors in the shape of another standard than problem+json. */
  readonly otherErrors?: readonly OtherError[];
  readonly example?: RouteExample;
}

interface OtherError {
  readonly status: number;
  readonly description: string;
  readonly schema: JsonSchema;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One request and its reply, shown in the documentation; a test checks both against the schemas. */
interface RouteExample {
  /** Values of the path parameters, not encoded. */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly request?: unknown;
  readonly reply?: unknown;
}
