import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '#access/principal.ts';
import { type Operation, type OperationAccess, operations } from '#access/rights/operations.ts';
import type { ErrorCode } from '#base/error-codes.ts';
import type { GatewayError } from '#base/gateway-error.ts';
import type { JsonSchema } from '#base/json-schema.ts';
import type { LimitReached } from '#base/limits.ts';
import type { ParameterValues, QueryParameters } from '#base/text/query-parameters.ts';
import type { CallContext } from '#calls/call-context.ts';
import type { CallOperation } from '#relay/relayed-call.ts';
import type { RenderedReply } from './rendering/rendering.ts';
import type { BodyOf, RouteBody } from './route-body.ts';

type Method = 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT';

/**
 * Declares an operation of the API: what it takes, what it replies, and what the documentation says. The types of the handler's `params`,
 * `query` and `body` and of its reply follow from it. `serve` adds the handler. `endpoint`: such as `GET /runs/:id`.
 */
export function route<
  const Url extends `/${string}`,
  Query extends RouteQuery = QueryParameters,
  Body extends RouteBody | undefined = undefined,
  Value = unknown,
>(
  endpoint: `${Method} ${Url}`,
  declared: Declaration<Url, Query, Body, Value>,
): { readonly serve: (handle: Handler<Url, Query, Body, Value>, own?: OwnTraits) => ApiRoute } {
  const [method, url] = endpoint.split(' ') as [Method, Url];
  return { serve: (handle, own) => ({ ...declared, ...own, method, url, handle }) };
}

/** What only a running gateway knows of a route. */
type OwnTraits = Pick<Route, 'open' | 'precondition'>;

interface Declaration<Url, Query, Body, Value> extends Omit<Route, 'method' | 'url' | 'handle' | keyof OwnTraits>, RouteDocs {
  /** Descriptions of the path parameters. */
  readonly params?: Readonly<Record<ParamNames<Url>, string>>;
  readonly query?: Query & RouteQuery;
  readonly body?: Body & RouteBody;
  readonly reply: ReplyDocs<Value>;
}

type ParamNames<Url> = Url extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamNames<`/${Rest}`>
  : Url extends `${string}:${infer Name}`
    ? Name
    : never;

type Handler<Url, Query, Body, Value> = (
  request: RouteRequest<{ readonly [Name in ParamNames<Url>]: string }, QueryOf<Query>, BodyOf<Body>>,
) => RouteReply<Value> | Promise<RouteReply<Value>>;

type QueryOf<Query> = Query extends QueryReader<infer Value> ? Value : ParameterValues<Query>;

/** One route, as the server has it. A page of the console is no operation of the API, and nothing else. */
export interface Route extends RouteTraits {
  readonly method: Method;
  /** With `:name` for path parameters. */
  readonly url: string;
  /** Open to everyone, against the table of operations. */
  readonly open?: boolean;
  /** Checked before the body is read: throws a GatewayError, such as `adapter-not-found`. */
  precondition?(params: Params, principal: Principal): void;
  readonly body?: RouteBody;
  /** Where absent, any query parameter is refused. */
  readonly query?: RouteQuery;
  /** The route takes an Idempotency-Key. `headers`: the request headers that belong to the payload, in lower case. */
  readonly idempotency?: { readonly headers: readonly string[] };
  /** A session cookie suffices even if the browser does not name the requesting site, because the route can only end things. */
  readonly onlyEnds?: true;
  /** For errors in the shape of another standard than RFC 9457. */
  readonly errorShape?: ErrorShape;
  /** The route takes tokens alone: what its challenge says in addition (RFC 9728), or an empty text. `origin`: see RouteRequest.ownOrigin. */
  readonly challenge?: (origin: string | undefined) => string;
  handle(request: RouteRequest): Promise<RouteReply> | RouteReply;
  /** The operation of a route that relays calls; they are counted by their outcome. */
  readonly operation?: CallOperation;
}

/** An operation of the API. The OpenAPI document and the role matrix are made from these. */
export interface ApiRoute extends Route, RouteDocs {}

export function isOfApi(route: Route): route is ApiRoute {
  return 'operationId' in route;
}

/** Who may call the route without a right of its own. */
export function accessOf(route: Route): OperationAccess {
  if (route.open === true) return 'everyone';
  return isOfApi(route) ? operations[route.operationId] : [];
}

type Params = Readonly<Record<string, string>>;

/** How the front door treats the requests of a route. */
export interface RouteTraits {
  /** Refused with 503 `overloaded` while the gateway is overloaded; false for monitoring and documentation. */
  readonly sheddable: boolean;
  /** Each request holds one of a limited number of places until its reply ends; false for a stream that lasts for hours. */
  readonly holdsPlace: boolean;
  /** When a request counts against `server.rateLimit`. `valid`: once it is valid. `call`: when the call path counts its call. */
  readonly counted: 'valid' | 'call' | 'never';
  /** Each request goes on record in the audit log. False: only a request that is refused with 401 or 403 does. */
  readonly recorded: boolean;
}

/** Query parameters by their name, or a reader of its own, which throws a GatewayError. */
export type RouteQuery = QueryParameters | QueryReader;

interface QueryReader<Query = unknown> {
  /** For the documentation. */
  readonly parameters: Readonly<Record<string, { readonly description: string; readonly schema: JsonSchema }>>;
  readonly read: (query: URLSearchParams) => Query;
}

export function isQueryReader(query: RouteQuery): query is QueryReader {
  return typeof query['read'] === 'function';
}

/** How a route writes its errors by another standard than RFC 9457; the statuses and headers stay. */
export interface ErrorShape {
  readonly mediaType: string;
  readonly schema: JsonSchema;
  readonly write: (error: GatewayError) => string;
}

export interface RouteRequest<OfPath = Params, Query = unknown, Body = unknown> {
  readonly params: OfPath;
  readonly query: Query;
  readonly headers: IncomingHttpHeaders;
  readonly body: Body;
  /** The exact bytes of the opaque members that the caller gave. */
  readonly spans: ReadonlyMap<string, Buffer>;
  readonly sourceAddress: string;
  readonly context: CallContext;
  readonly record: CallContext['record'];
  readonly principal: Principal;
  /** The origin by which the caller reached the gateway; undefined where `Host` is none of the gateway's names. */
  readonly ownOrigin: () => string | undefined;
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

/** `Value`: of a JSON body. */
export type RouteReply<Value = unknown> =
  | RenderedReply
  | { readonly kind: 'json'; readonly status: number; readonly headers: Headers; readonly value: Value }
  | {
      readonly kind: 'streamed';
      readonly headers?: Headers;
      readonly mediaType: string;
      readonly pieces: AsyncGenerator<Buffer, void, undefined>;
    }
  | {
      readonly kind: 'plain';
      readonly status: number;
      readonly headers?: Headers;
      /** Default `application/json; charset=utf-8`. */
      readonly mediaType?: string;
      readonly body?: Buffer | string;
    }
  /** The error of an earlier request with the same Idempotency-Key, whose id it has. */
  | { readonly kind: 'problem'; readonly error: GatewayError; readonly requestId: string; readonly headers: Headers };

type Headers = Readonly<Record<string, string>>;

export function json<Value>(status: number, value: Value, headers: Headers = {}): RouteReply<Value> {
  return { kind: 'json', status, headers, value };
}

/** JSON that is a text already, such as one with numbers of any length. */
export function rawJson(status: number, body: string, headers: Headers = {}): RouteReply<never> {
  return { kind: 'plain', status, headers, body };
}

export const noContent: RouteReply<never> = { kind: 'plain', status: 204 };

/** What OpenAPI and /docs say about a route in addition to its schemas. */
export interface RouteDocs {
  /** OpenAPI's tag. */
  readonly tag: 'relay' | 'automations' | 'workflows' | 'forms' | 'runs' | 'approvals' | 'access' | 'operations';
  /** Says who may call the route. */
  readonly operationId: Operation;
  readonly summary: string;
  readonly description?: string;
  /** Descriptions of the request headers that the route reads. */
  readonly requestHeaders?: Headers;
  /** Descriptions of the path parameters. */
  readonly params?: Params;
  readonly reply: ReplyDocs;
  /** Other replies without error, such as 304. `sameBody`: with the body of `reply`; otherwise without one. */
  readonly otherReplies?: readonly {
    readonly status: number;
    readonly description: string;
    readonly sameBody?: true;
    readonly headers?: Headers;
  }[];
  /** Error codes of the route, in addition to those that follow from its properties (openapi-errors.ts). */
  readonly errors?: readonly ErrorCode[];
  /** Errors in the shape of another standard than problem+json. */
  readonly otherErrors?: readonly {
    readonly status: number;
    readonly description: string;
    readonly schema: JsonSchema;
    readonly headers?: Headers;
  }[];
  /** One request and its reply, shown in the documentation; a test checks both against the schemas. */
  readonly example?: {
    /** Values of the path parameters, not encoded. */
    readonly path?: Params;
    readonly query?: Readonly<Record<string, string | number>>;
    readonly request?: unknown;
    readonly reply?: unknown;
  };
}

interface ReplyDocs<Value = unknown> {
  /** Default 200. */
  readonly status?: number;
  readonly description: string;
  readonly mediaType?: string;
  /** Of the same value in other forms. */
  readonly otherMediaTypes?: readonly string[];
  readonly schema?: JsonSchema<Value>;
  /** Headers in addition to X-Request-Id, by name. */
  readonly headers?: Headers;
}
