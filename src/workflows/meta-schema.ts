import type { JsonSchema } from '#base/json-schema.ts';

const schema: JsonSchema = { $ref: '#' };
const schemas: JsonSchema = { type: 'array', minItems: 1, items: schema };
const map: JsonSchema = { type: 'object', additionalProperties: schema };
const text: JsonSchema = { type: 'string' };
const number: JsonSchema = { type: 'number' };
const count: JsonSchema = { type: 'integer', minimum: 0 };
const flag: JsonSchema = { type: 'boolean' };
const names: JsonSchema = { type: 'array', items: text, uniqueItems: true };
const kind: JsonSchema = { enum: ['string', 'number', 'integer', 'boolean', 'null', 'object', 'array'] };
const anchor: JsonSchema = { type: 'string', pattern: '^[A-Za-z_][-A-Za-z0-9._]*$' };

const keywords: JsonSchema = {
  $id: text,
  $schema: text,
  $ref: text,
  $anchor: anchor,
  $dynamicRef: text,
  $dynamicAnchor: anchor,
  $recursiveRef: text,
  $recursiveAnchor: flag,
  $comment: text,
  $defs: map,
  definitions: map,
  title: text,
  description: text,
  default: {},
  examples: { type: 'array' },
  deprecated: flag,
  readOnly: flag,
  writeOnly: flag,
  type: { anyOf: [kind, { type: 'array', items: kind, minItems: 1, uniqueItems: true }] },
  const: {},
  enum: { type: 'array' },
  multipleOf: { type: 'number', exclusiveMinimum: 0 },
  maximum: number,
  exclusiveMaximum: number,
  minimum: number,
  exclusiveMinimum: number,
  maxLength: count,
  minLength: count,
  pattern: { type: 'string', format: 'regex' },
  format: text,
  contentEncoding: text,
  contentMediaType: text,
  contentSchema: schema,
  maxItems: count,
  minItems: count,
  uniqueItems: flag,
  maxContains: count,
  minContains: count,
  maxProperties: count,
  minProperties: count,
  required: names,
  dependentRequired: { type: 'object', additionalProperties: names },
  dependencies: { type: 'object', additionalProperties: { anyOf: [names, schema] } },
  prefixItems: schemas,
  items: { type: ['object', 'boolean', 'array'], items: schema, $ref: '#/$defs/keywords' },
  additionalItems: schema,
  contains: schema,
  additionalProperties: schema,
  properties: map,
  patternProperties: { ...map, propertyNames: { format: 'regex' } },
  dependentSchemas: map,
  propertyNames: schema,
  if: schema,
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword
  then: schema,
  else: schema,
  allOf: schemas,
  anyOf: schemas,
  oneOf: schemas,
  not: schema,
  unevaluatedItems: schema,
  unevaluatedProperties: schema,
};

/**
 * The form of a schema: the meta-schema of JSON Schema 2020-12 in one document. It also has keywords of earlier drafts: `definitions`,
 * `dependencies`, `additionalItems`, `items` with a list, `$recursiveRef` and `$recursiveAnchor`.
 */
export const metaSchema: JsonSchema = {
  type: ['object', 'boolean'],
  $ref: '#/$defs/keywords',
  $defs: { keywords: { properties: keywords } },
};
