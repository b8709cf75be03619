import type { RequestProblem } from '#base/gateway-error.ts';

/** A value and the JSON Schema that it is held against, as JSON texts. */
export interface SchemaRequest {
  readonly schema: string;
  readonly value: string;
}

/** Why a schema cannot judge any value. `pointer`: the place in the schema (RFC 6901); empty for the whole of it. */
export interface SchemaFault {
  readonly pointer: string;
  readonly detail: string;
}

/** At most 100 problems of the value, each with its pointer into the value, or what is wrong with the schema. */
export type SchemaVerdict = { readonly problems: readonly RequestProblem[] } | { readonly fault: SchemaFault };
