import { type JsonSchema, type MemberSchemas, type ObjectOf, Type } from '#base/json-schema.ts';

/** No other members. `title`: the OpenAPI component, of which generators make a type. */
export function namedObject<Of extends MemberSchemas>(title: string, properties: Of): JsonSchema<ObjectOf<Of>> {
  return { ...Type.Object(properties, { additionalProperties: false }), title };
}
