import { isDeepStrictEqual } from 'node:util';
import type { OperationAccess } from '#access/rights/operations.ts';
import type { ErrorCode } from '#base/error-codes.ts';
import type { JsonSchema } from '#base/json-schema.ts';
import type { RouteDocs } from '../route.ts';

/** As it is written: without the type of its values. */
type SchemaObject = Readonly<Record<string, unknown>>;

/** The parts of OpenAPI 3.1 that the gateway's document uses; the console shows it to people. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: ApiInfo;
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: RouteDocs['tag']; readonly description: string }[];
  readonly security: readonly SecurityRequirement[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: Components;
  /** All error codes, also those of no operation. */
  readonly 'x-error-codes': Readonly<Record<ErrorCode, DocumentedError>>;
}

interface ApiInfo {
  readonly title: string;
  readonly version: string;
  readonly summary: string;
  readonly description: string;
  readonly license: { readonly name: string; readonly identifier: string };
  readonly contact: { readonly name: string };
}

type SecurityRequirement = Readonly<Record<string, readonly string[]>>;
type PathItem = Readonly<Record<string, ApiOperation>>;

export interface Components {
  readonly schemas: Readonly<Record<string, SchemaObject>>;
  readonly responses: Readonly<Record<string, ApiResponse>>;
  readonly headers: Readonly<Record<string, ApiHeader>>;
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly securitySchemes: Readonly<Record<string, object>>;
}

interface DocumentedError {
  /** One status; some codes have several (`statusesOf`). */
  readonly statuses: readonly number[];
  readonly title: string;
  readonly meaning: string;
  readonly remedy: string;
}

export interface ApiOperation {
  readonly operationId: string;
  readonly tags: readonly RouteDocs['tag'][];
  readonly summary: string;
  readonly description: string;
  /** The roles that may call the operation; `everyone` needs no credentials, `callers` needs any valid ones. */
  readonly 'x-roles': OperationAccess;
  readonly security?: readonly SecurityRequirement[];
  readonly parameters: readonly (Parameter | Reference)[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  /** By status. */
  readonly responses: Readonly<Record<string, ApiResponse>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'header' | 'path' | 'query';
  readonly required: boolean;
  readonly description: string;
  readonly schema: SchemaObject;
  readonly example?: string | number;
}

export interface Reference {
  readonly $ref: string;
}

export interface ApiHeader {
  readonly description: string;
  readonly schema: SchemaObject;
}

export interface ApiResponse {
  readonly description: string;
  readonly headers: Readonly<Record<string, ApiHeader | Reference>>;
  readonly content?: Content;
  /** The error codes with this status. */
  readonly 'x-error-codes'?: readonly ErrorCode[];
}

/** By media type. */
export type Content = Readonly<Record<string, { readonly schema: SchemaObject; readonly example?: unknown }>>;

/** An operation with its place in the document. */
export interface PlacedOperation {
  /** In lower case. */
  readonly method: string;
  readonly path: string;
  readonly operation: ApiOperation;
}

/** The operations of a document in its order. */
export function operationsIn(document: OpenApiDocument): readonly PlacedOperation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  );
}

/**
 * The document with each schema that has a `title` as a component of that name. A reference is in its place. Generators make a type of
 * each component. Throws where two different schemas have one name.
 */
export function withNamedSchemas(document: OpenApiDocument): OpenApiDocument {
  const named = new Map<string, JsonSchema>();
  const { components } = document;
  for (const [name, schema] of Object.entries(components.schemas)) addSchema(named, name, schema);
  const paths = mapValues(document.paths, (item) => mapValues(item, (operation) => operationWith(named, operation)));
  const responses = mapValues(components.responses, (response) => responseWith(named, response));
  return {
    ...document,
    paths,
    components: {
      ...components,
      responses,
      schemas: Object.fromEntries([...named].toSorted(([one], [other]) => (one < other ? -1 : 1))),
    },
  };
}

type Named = Map<string, JsonSchema>;

function operationWith(named: Named, operation: ApiOperation): ApiOperation {
  const { requestBody, responses } = operation;
  return {
    ...operation,
    ...(requestBody === undefined ? {} : { requestBody: { ...requestBody, content: contentWith(named, requestBody.content) } }),
    responses: mapValues(responses, (response) => responseWith(named, response)),
  };
}

function responseWith(named: Named, response: ApiResponse): ApiResponse {
  return response.content === undefined ? response : { ...response, content: contentWith(named, response.content) };
}

function contentWith(named: Named, content: Content): Content {
  return mapValues(content, (media) => ({ ...media, schema: reference(named, media.schema) }));
}

/** A reference where the schema has a name, otherwise the schema with its named parts as references. */
function reference(named: Named, schema: JsonSchema): JsonSchema {
  const { title, ...rest } = schema;
  if (typeof title !== 'string') return withReferences(named, schema);
  addSchema(named, title, rest);
  return { $ref: `#/components/schemas/${title}` };
}

function addSchema(named: Named, name: string, schema: JsonSchema): void {
  const made = withReferences(named, schema);
  const other = named.get(name);
  if (other !== undefined && !isDeepStrictEqual(other, made)) throw new Error(`two different schemas have the title ${name}`);
  named.set(name, made);
}

/** The keywords of the gateway's schemas that hold schemas. */
interface Parts {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
}

function withReferences(named: Named, schema: JsonSchema): JsonSchema {
  const { properties, items, anyOf } = schema as Parts;
  const replaced = (part: JsonSchema): JsonSchema => reference(named, part);
  return {
    ...schema,
    ...(properties === undefined ? {} : { properties: mapValues(properties, replaced) }),
    ...(items === undefined ? {} : { items: replaced(items) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(replaced) }),
  };
}

function mapValues<Value, Made>(
  record: Readonly<Record<string, Value>>,
  make: (value: Value) => Made,
): Readonly<Record<string, Made>> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, make(value)]));
}
