import { Errors } from 'typebox/schema';
import type { JsonSchema } from '#base/json-schema.ts';
import { createProblemList } from '#json/forms/problem-list.ts';
import { addProblems } from '#json/forms/schema-wording.ts';
import { pointerTo } from '#json/json-pointer.ts';

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

/** The meta-schema of JSON Schema 2020-12 in one document, with keywords of earlier drafts. */
const metaSchema: JsonSchema = {
  type: ['object', 'boolean'],
  $ref: '#/$defs/keywords',
  $defs: { keywords: { properties: keywords } },
};

/** `pointer` into the schema. */
export interface SchemaFault {
  readonly pointer: string;
  readonly detail: string;
}

/** Keywords whose members are schemas. */
const maps: ReadonlySet<string> = new Set([
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'patternProperties',
  'properties',
]);
const withoutSchemas: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples']);

const dialects = /^https?:\/\/json-schema\.org\/(?:draft\/2020-12|draft\/2019-09|draft-07|draft-06)\/schema#?$/u;

/** Undefined: the schema can judge values. Throws a RangeError for too deep nesting. */
export function schemaFault(schema: unknown): SchemaFault | undefined {
  const [isValid, errors] = Errors(metaSchema, schema);
  if (!isValid) {
    const list = createProblemList();
    addProblems(list, errors);
    const [first] = list.problems;
    return { pointer: first?.pointer ?? '', detail: `${first?.detail ?? 'is no JSON Schema'}; correct the schema` };
  }
  const { $schema: dialect } = (typeof schema === 'object' ? schema : {}) as JsonSchema;
  if (typeof dialect === 'string' && !dialects.test(dialect))
    return { pointer: '/$schema', detail: 'is not supported; write https://json-schema.org/draft/2020-12/schema' };
  return new References(schema).fault();
}

interface Place {
  readonly pointer: string;
  /** An address. */
  readonly base: string;
}

interface Reference extends Place {
  readonly target: string;
}

/** For a schema without `$id`. The name is reserved and never resolved (RFC 6761). */
const unnamed = 'https://schema.invalid/';

class References {
  readonly #resources = new Map<string, unknown>();
  readonly #anchors = new Set<string>();
  readonly #references: Reference[] = [];
  #fault: SchemaFault | undefined;

  constructor(schema: unknown) {
    this.#resources.set(unnamed, schema);
    this.#read(schema, { pointer: '', base: unnamed });
  }

  fault(): SchemaFault | undefined {
    for (const reference of this.#references) this.#fault ??= this.#faultOf(reference);
    return this.#fault;
  }

  #faultOf({ pointer, base, target }: Reference): SchemaFault | undefined {
    const href = absolute(target, base);
    if (href === undefined) return { pointer, detail: 'must be a URI reference, such as #/$defs/name' };
    const [address = '', fragment = ''] = href.split('#');
    const resource = this.#resources.get(address);
    if (resource === undefined)
      return {
        pointer,
        detail: 'names another document, and none is fetched; write its schema into $defs, and refer to #/$defs/name',
      };
    const isKnown = fragment === '' || (fragment.startsWith('/') ? isSchemaAt(resource, fragment) : this.#anchors.has(href));
    return isKnown ? undefined : { pointer, detail: 'names nothing in this schema; correct it, or add what it names to $defs' };
  }

  #read(schema: unknown, { pointer, base: outer }: Place): void {
    if (Array.isArray(schema)) {
      for (const [index, item] of schema.entries()) this.#read(item, { pointer: pointerTo(pointer, index), base: outer });
    }
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return;
    const members = schema as JsonSchema;
    const base = this.#identify(members, { pointer, base: outer });
    for (const [name, value] of Object.entries(members)) {
      const at = pointerTo(pointer, name);
      if (typeof value === 'string') this.#note(name, value, { pointer: at, base });
      else if (maps.has(name)) this.#readMap(value, { pointer: at, base });
      else if (!withoutSchemas.has(name)) this.#read(value, { pointer: at, base });
    }
  }

  #readMap(map: unknown, { pointer, base }: Place): void {
    if (typeof map !== 'object' || map === null) return;
    for (const [name, value] of Object.entries(map)) this.#read(value, { pointer: pointerTo(pointer, name), base });
  }

  /** The base within the schema. An `$id` of draft-07 may be an anchor. */
  #identify({ $id: id, ...members }: JsonSchema, { pointer, base }: Place): string {
    if (typeof id !== 'string') return base;
    const href = absolute(id, base);
    if (href === undefined) {
      this.#fault ??= { pointer: pointerTo(pointer, '$id'), detail: 'must be a URI reference' };
      return base;
    }
    if (id.startsWith('#')) {
      this.#anchors.add(href);
      return base;
    }
    const address = href.replace(/#.*$/u, '');
    this.#resources.set(address, { $id: id, ...members });
    return address;
  }

  #note(keyword: string, value: string, place: Place): void {
    if (keyword === '$ref' || keyword === '$dynamicRef' || keyword === '$recursiveRef')
      this.#references.push({ ...place, target: value });
    else if (keyword === '$anchor' || keyword === '$dynamicAnchor') this.#anchors.add(`${place.base}#${value}`);
  }
}

function absolute(reference: string, base: string): string | undefined {
  return URL.parse(reference, base)?.href;
}

/** For a JSON pointer in the form of a URI fragment. */
function isSchemaAt(resource: unknown, fragment: string): boolean {
  let found = resource;
  for (const segment of decode(fragment).split('/').slice(1)) {
    const name = segment.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return false;
    found = (found as JsonSchema)[name];
  }
  return typeof found === 'boolean' || (typeof found === 'object' && found !== null && !Array.isArray(found));
}

function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}
