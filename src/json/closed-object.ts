import { type JsonSchema, Type } from '#base/json-schema.ts';

/** The schema of an object with these members and no others: unknown properties are rejected. */
export function closedObject(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return Type.Object(properties, { additionalProperties: false });
}
