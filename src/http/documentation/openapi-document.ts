import type { OperationAccess } from '#access/rights/operations.ts';
import type { ErrorCode } from '#base/error-codes.ts';
import type { RouteDocs } from '../route.ts';

/** As it is written: without the type of its values. */
type JsonSchema = Readonly<Record<string, unknown>>;

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

export type SecurityRequirement = Readonly<Record<string, readonly string[]>>;
export type PathItem = Readonly<Record<string, ApiOperation>>;

export interface Components {
  readonly schemas: Readonly<Record<string, JsonSchema>>;
  readonly responses: Readonly<Record<string, ApiResponse>>;
  readonly headers: Readonly<Record<string, ApiHeader>>;
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly securitySchemes: Readonly<Record<string, object>>;
}

export interface DocumentedError {
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
  readonly schema: JsonSchema;
  readonly example?: string | number;
}

export interface Reference {
  readonly $ref: string;
}

export interface ApiHeader {
  readonly description: string;
  readonly schema: JsonSchema;
}

export interface ApiResponse {
  readonly description: string;
  readonly headers: Readonly<Record<string, ApiHeader | Reference>>;
  readonly content?: Content;
  /** The error codes with this status. */
  readonly 'x-error-codes'?: readonly ErrorCode[];
}

/** By media type. */
export type Content = Readonly<Record<string, { readonly schema: JsonSchema; readonly example?: unknown }>>;

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
