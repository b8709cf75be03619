import { type JsonSchema, Type } from '#base/json-schema.ts';

/** The schema of an object with these members and no others: unknown properties are rejected. */
function closedObject(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return Type.Object(properties, { additionalProperties: false });
}

/** A closed object with a name: OpenAPI has it as a component of this name, so that generators make a type of it. */
export function namedObject(title: string, properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { ...closedObject(properties), title };
}
