import type { RequestProblem } from '#base/gateway-error.ts';
import type { JsonSchema } from '#base/json-schema.ts';

/** The body of a request, as its route declares it. */
export type RouteBody = JsonBody | FormBody | StreamBody | DocumentBody;

/** `Value`: what the handler gets. */
export interface JsonBody<Value = unknown> {
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
  readonly judge?: (body: unknown, spans: ReadonlyMap<string, Buffer>) => Judgement<Value>;
  /** Where `schema` is a union: its members, and which of them a body is judged by, so that its problems are about that one alone. */
  readonly variants?: { readonly schemas: readonly JsonSchema[]; readonly choose: (body: unknown) => JsonSchema };
}

export interface Judgement<Value = unknown> {
  readonly problems: readonly RequestProblem[];
  /** What the judge has made of the body, for the handler; where absent, the handler gets the body as it is. */
  readonly judged?: Value | undefined;
}

export function jsonBody<Value, Judged = Value>(
  schema: JsonSchema<Value>,
  more: Omit<JsonBody<Judged>, 'kind' | 'schema'> = {},
): JsonBody<Judged> {
  return { kind: 'json', schema, ...more };
}

/** A form. The route's handler judges its text. */
interface FormBody {
  readonly kind: 'form';
  /** Bytes. */
  readonly limit: number;
  /** For the documentation only. */
  readonly schema: JsonSchema;
}

/** A body of any length that the handler reads as it arrives. */
interface StreamBody {
  readonly kind: 'stream';
  readonly mediaType: 'application/x-ndjson';
  /** For the documentation only. */
  readonly schema: JsonSchema;
}

/** A text that is kept as it is. The route's handler judges its bytes. */
interface DocumentBody {
  readonly kind: 'document';
  /** The documentation shows the first. */
  readonly mediaTypes: readonly string[];
  /** Bytes. */
  readonly limit: number;
  /** For the documentation only. */
  readonly schema: JsonSchema;
}

/** The type of what the handler gets. */
export type BodyOf<Body> =
  Body extends JsonBody<infer Value>
    ? Value
    : Body extends StreamBody
      ? AsyncIterable<Buffer>
      : Body extends DocumentBody
        ? Buffer
        : Body extends FormBody
          ? string
          : unknown;

/** The media types that a route's body may have. */
export function bodyMediaTypes(body: RouteBody): readonly string[] {
  if (body.kind === 'form') return ['application/x-www-form-urlencoded'];
  return body.kind === 'stream' ? [body.mediaType] : (body.mediaTypes ?? jsonAlone);
}

/** Whether a request may leave the body out. */
export function isOptional(body: RouteBody): boolean {
  return body.kind === 'json' && body.optional === true;
}

const jsonAlone = ['application/json'];
