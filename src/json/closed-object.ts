import { type JsonSchema, Type } from '#base/json-schema.ts';

/** An object that takes the named members and no other (specification: unknown properties are rejected). */
export function closedObject(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return Type.Object(properties, { additionalProperties: false });
}
