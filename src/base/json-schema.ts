/** JSON Schema 2020-12 (json-schema.org), as OpenAPI 3.1 uses it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Schemas of members that an object may leave out. */
const optional = new WeakSet<JsonSchema>();

/**
 * Makes the same schemas as typebox's `Type`, which would load 350 more modules at each start (decision 0006). `keywords` are further
 * keywords of JSON Schema, such as `description`.
 */
export const Type = {
  String: (keywords?: JsonSchema): JsonSchema => ({ type: 'string', ...keywords }),
  Integer: (keywords?: JsonSchema): JsonSchema => ({ type: 'integer', ...keywords }),
  Number: (keywords?: JsonSchema): JsonSchema => ({ type: 'number', ...keywords }),
  Boolean: (keywords?: JsonSchema): JsonSchema => ({ type: 'boolean', ...keywords }),
  Null: (): JsonSchema => ({ type: 'null' }),
  /** Any value. */
  Unknown: (keywords?: JsonSchema): JsonSchema => ({ ...keywords }),
  Literal: (value: string): JsonSchema => ({ type: 'string', const: value }),
  Enum: (values: readonly (string | number)[], keywords?: JsonSchema): JsonSchema => ({ enum: values, ...keywords }),
  Array: (items: JsonSchema, keywords?: JsonSchema): JsonSchema => ({ type: 'array', items, ...keywords }),
  Union: (schemas: readonly JsonSchema[], keywords?: JsonSchema): JsonSchema => ({ anyOf: schemas, ...keywords }),
  /** Every member is required, except those made by `Optional`. */
  Object(properties: Readonly<Record<string, JsonSchema>>, keywords?: JsonSchema): JsonSchema {
    const required = Object.entries(properties).flatMap(([name, schema]) => (optional.has(schema) ? [] : [name]));
    return { type: 'object', ...(required.length === 0 ? {} : { required }), properties, ...keywords };
  },
  Optional(schema: JsonSchema): JsonSchema {
    const made = { ...schema };
    optional.add(made);
    return made;
  },
} as const;
