declare const valueOf: unique symbol;
declare const mayBeAbsent: unique symbol;

type Keywords = Readonly<Record<string, unknown>>;

/** JSON Schema 2020-12 (json-schema.org), as OpenAPI 3.1 uses it. `Value`: the type of the values that satisfy it. */
export type JsonSchema<Value = unknown> = Keywords & { readonly [valueOf]?: Value };

/** The schema of a member that an object may leave out. */
type OptionalSchema<Value> = JsonSchema<Value> & { readonly [mayBeAbsent]: true };

export type MemberSchemas = Readonly<Record<string, JsonSchema>>;

/** The type of the values that satisfy a schema. */
export type ValueOf<Schema> = Schema extends JsonSchema<infer Value> ? Value : never;

type OptionalNames<Of> = { [Name in keyof Of]: Of[Name] extends OptionalSchema<unknown> ? Name : never }[keyof Of];

export type ObjectOf<Of> = { readonly [Name in Exclude<keyof Of, OptionalNames<Of>>]: ValueOf<Of[Name]> } & {
  readonly [Name in OptionalNames<Of>]?: ValueOf<Of[Name]> | undefined;
};

/** Schemas of members that an object may leave out. */
const optional = new WeakSet<JsonSchema>();

/**
 * Makes the same schemas as typebox's `Type`, which would load 350 more modules at each start (decision 0006). `keywords` are further
 * keywords of JSON Schema, such as `description`.
 */
export const Type = {
  String: (keywords?: Keywords): JsonSchema<string> => ({ type: 'string', ...keywords }),
  Integer: (keywords?: Keywords): JsonSchema<number> => ({ type: 'integer', ...keywords }),
  Number: (keywords?: Keywords): JsonSchema<number> => ({ type: 'number', ...keywords }),
  Boolean: (keywords?: Keywords): JsonSchema<boolean> => ({ type: 'boolean', ...keywords }),
  Null: (): JsonSchema<null> => ({ type: 'null' }),
  Unknown: (keywords?: Keywords): JsonSchema => ({ ...keywords }),
  Literal: <const Word extends string>(value: Word): JsonSchema<Word> => ({ type: 'string', const: value }),
  Enum: <const Value extends string | number>(values: readonly Value[], keywords?: Keywords): JsonSchema<Value> => ({
    enum: values,
    ...keywords,
  }),
  Array: <Item>(items: JsonSchema<Item>, keywords?: Keywords): JsonSchema<readonly Item[]> => ({
    type: 'array',
    items,
    ...keywords,
  }),
  Union: <Schema extends JsonSchema>(schemas: readonly Schema[], keywords?: Keywords): JsonSchema<ValueOf<Schema>> => ({
    anyOf: schemas,
    ...keywords,
  }),
  /** Every member is required, except those made by `Optional`. */
  Object<Of extends MemberSchemas>(properties: Of, keywords?: Keywords): JsonSchema<ObjectOf<Of>> {
    const required = Object.entries(properties).flatMap(([name, schema]) => (optional.has(schema) ? [] : [name]));
    return { type: 'object', ...(required.length === 0 ? {} : { required }), properties, ...keywords };
  },
  Optional<Value>(schema: JsonSchema<Value>): OptionalSchema<Value> {
    const made = { ...schema } as OptionalSchema<Value>;
    optional.add(made);
    return made;
  },
} as const;
