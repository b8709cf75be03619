import { isDeepStrictEqual } from 'node:util';
import type { JsonSchema } from '#base/json-schema.ts';
import type { ApiOperation, ApiResponse, Content, OpenApiDocument } from './openapi-document.ts';

/**
 * The document with each schema that has a `title` as a component of that name. A reference is in its place. Generators make a type of
 * each component. Throws where two different schemas have one name.
 */
export function withNamedSchemas(document: OpenApiDocument): OpenApiDocument {
  const named = new Map<string, JsonSchema>();
  const { components } = document;
  for (const [name, schema] of Object.entries(components.schemas)) addSchema(named, name, schema);
  const paths = mapValues(document.paths, (item) => mapValues(item, (operation) => operationWith(named, operation)));
  const responses = mapValues(components.responses, (response) => responseWith(named, response));
  return {
    ...document,
    paths,
    components: {
      ...components,
      responses,
      schemas: Object.fromEntries([...named].toSorted(([one], [other]) => (one < other ? -1 : 1))),
    },
  };
}

type Named = Map<string, JsonSchema>;

function operationWith(named: Named, operation: ApiOperation): ApiOperation {
  const { requestBody, responses } = operation;
  return {
    ...operation,
    ...(requestBody === undefined ? {} : { requestBody: { ...requestBody, content: contentWith(named, requestBody.content) } }),
    responses: mapValues(responses, (response) => responseWith(named, response)),
  };
}

function responseWith(named: Named, response: ApiResponse): ApiResponse {
  return response.content === undefined ? response : { ...response, content: contentWith(named, response.content) };
}

function contentWith(named: Named, content: Content): Content {
  return mapValues(content, (media) => ({ ...media, schema: reference(named, media.schema) }));
}

/** A reference where the schema has a name, otherwise the schema with its named parts as references. */
function reference(named: Named, schema: JsonSchema): JsonSchema {
  const { title, ...rest } = schema;
  if (typeof title !== 'string') return withReferences(named, schema);
  addSchema(named, title, rest);
  return { $ref: `#/components/schemas/${title}` };
}

function addSchema(named: Named, name: string, schema: JsonSchema): void {
  const made = withReferences(named, schema);
  const other = named.get(name);
  if (other !== undefined && !isDeepStrictEqual(other, made)) throw new Error(`two different schemas have the title ${name}`);
  named.set(name, made);
}

/** The keywords of the gateway's schemas that hold schemas. */
interface Parts {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
}

function withReferences(named: Named, schema: JsonSchema): JsonSchema {
  const { properties, items, anyOf } = schema as Parts;
  const replaced = (part: JsonSchema): JsonSchema => reference(named, part);
  return {
    ...schema,
    ...(properties === undefined ? {} : { properties: mapValues(properties, replaced) }),
    ...(items === undefined ? {} : { items: replaced(items) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(replaced) }),
  };
}

function mapValues<Value, Made>(
  record: Readonly<Record<string, Value>>,
  make: (value: Value) => Made,
): Readonly<Record<string, Made>> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, make(value)]));
}
