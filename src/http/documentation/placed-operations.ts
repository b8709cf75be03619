import type { ApiOperation, OpenApiDocument } from './openapi-document.ts';

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
