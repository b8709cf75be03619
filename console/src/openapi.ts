import { gatewayAddress } from './address.ts';
import type { SnippetCall } from './snippets.ts';

/** The parts of the OpenAPI document that the reference shows. */
export interface ApiDocument {
  readonly openapi: string;
  readonly info: { readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, ApiSchema>>;
    readonly parameters: Readonly<Record<string, ApiParameter>>;
    readonly headers: Readonly<Record<string, ApiHeader>>;
    readonly securitySchemes: Readonly<Record<string, { readonly description: string }>>;
  };
  readonly 'x-error-codes': Readonly<
    Record<
      string,
      { readonly statuses: readonly number[]; readonly title: string; readonly meaning: string; readonly remedy: string }
    >
  >;
}

export interface ApiOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly 'x-roles': 'everyone' | 'callers' | readonly string[];
  readonly parameters: readonly (ApiParameter | Reference)[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, ApiResponse>>;
}

export interface ApiParameter {
  readonly name: string;
  readonly in: 'header' | 'path' | 'query';
  readonly required: boolean;
  readonly description: string;
  readonly schema: ApiSchema;
  readonly example?: string | number;
}

interface ApiHeader {
  readonly description: string;
}

export interface ApiResponse {
  readonly description: string;
  readonly headers?: Readonly<Record<string, ApiHeader | Reference>>;
  readonly content?: Content;
  readonly 'x-error-codes'?: readonly string[];
}

type Content = Readonly<Record<string, { readonly schema: ApiSchema; readonly example?: unknown }>>;

interface Reference {
  readonly $ref: string;
}

/** The keywords of JSON Schema that the gateway's schemas use. */
export interface ApiSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly format?: string;
  readonly const?: unknown;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly ApiSchema[];
  readonly items?: ApiSchema;
  readonly properties?: Readonly<Record<string, ApiSchema>>;
  readonly required?: readonly string[];
}

export interface PlacedOperation {
  readonly method: string;
  readonly path: string;
  readonly operation: ApiOperation;
}

/** The operations that have every word of `search` in their name, path or summary. */
export function operationsWith(document: ApiDocument, search: string): readonly PlacedOperation[] {
  const words = search
    .toLowerCase()
    .split(/\s+/u)
    .filter((word) => word !== '');
  return Object.entries(document.paths)
    .flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
    )
    .filter(({ method, path, operation: { operationId, summary } }) => {
      const text = `${method} ${path} ${operationId} ${summary}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
}

/** A parameter, with its reference followed. */
export function parametersOf(document: ApiDocument, operation: ApiOperation): readonly ApiParameter[] {
  return operation.parameters.flatMap((parameter) => {
    if (!('$ref' in parameter)) return [parameter];
    const found = document.components.parameters[nameIn(parameter.$ref)];
    return found === undefined ? [] : [found];
  });
}

/** The headers of a reply by name, with their descriptions. */
export function headersOf(
  document: ApiDocument,
  { headers = {} }: ApiResponse,
): readonly (readonly [name: string, description: string])[] {
  return Object.entries(headers).flatMap(([name, header]) => {
    const found = '$ref' in header ? document.components.headers[nameIn(header.$ref)] : header;
    return found === undefined ? [] : [[name, found.description] as const];
  });
}

/** The example of an operation as a call; undefined where a required value has no example. */
export function exampleCall(document: ApiDocument, { method, path, operation }: PlacedOperation): SnippetCall | undefined {
  const parameters = parametersOf(document, operation);
  const [paths, query] = [examplesIn('path', parameters), examplesIn('query', parameters)];
  const target = path.slice(1).replaceAll(/\{(\w+)\}/gu, (all, name: string) => encodeURIComponent(paths[name] ?? all));
  const [[mediaType, { example }] = ['', { example: '' }]] = Object.entries(operation.requestBody?.content ?? {});
  if (target.includes('%7B') || example === undefined) return undefined;
  const body = bodyText(mediaType, example);
  const url = new URL(target, gatewayAddress);
  url.search = new URLSearchParams(query).toString();
  const headers: Record<string, string> = mediaType === '' ? {} : { 'Content-Type': mediaType };
  const options = optionsText({ path: paths, query, rawBody: body });
  return { method, url: url.href, headers, body, operation: operation.operationId, options };
}

function examplesIn(where: 'path' | 'query', parameters: readonly ApiParameter[]): Readonly<Record<string, string>> {
  const given = parameters.filter((parameter) => parameter.in === where && parameter.example !== undefined);
  return Object.fromEntries(given.map(({ name, example }) => [name, String(example)]));
}

/** The options of the client as JavaScript, without those that are empty. */
function optionsText(options: Readonly<Record<string, string | object>>): string {
  const given = Object.entries(options).filter(([, value]) => Object.keys(value).length > 0);
  const members = given.map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return members.length === 0 ? '' : `{ ${members.join(', ')} }`;
}

function bodyText(mediaType: string, example: unknown): string {
  if (mediaType === 'application/x-www-form-urlencoded') {
    return new URLSearchParams(example as Readonly<Record<string, string>>).toString();
  }
  return typeof example === 'string' ? example : JSON.stringify(example);
}

function nameIn(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

/** A member of a body. */
interface SchemaRow {
  /** Such as `params.path`. */
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string;
}

/** The members of a body as rows, those inside others too. */
export function rowsOf(document: ApiDocument, schema: ApiSchema): readonly SchemaRow[] {
  return [...membersOf(document, schema, '', [])];
}

/** `seen`: the named schemas around it, because some hold themselves. */
function* membersOf(document: ApiDocument, given: ApiSchema, prefix: string, seen: readonly string[]): Generator<SchemaRow> {
  const { $ref: name = '' } = given;
  if (seen.includes(name)) return;
  const inside = name === '' ? seen : [...seen, name];
  const schema = followed(document, given);
  yield* unnamed(document, schema, prefix, inside);
  for (const [key, member] of Object.entries(schema.properties ?? {})) {
    const path = prefix === '' ? key : `${prefix}.${key}`;
    yield { name: path, ...wordsOf(document, member), isRequired: schema.required?.includes(key) === true };
    yield* membersOf(document, member, path, inside);
  }
}

/** The members of the entries of a list, and of each shape that a value may have. */
function* unnamed(
  document: ApiDocument,
  { items, anyOf = [] }: ApiSchema,
  prefix: string,
  seen: readonly string[],
): Generator<SchemaRow> {
  if (items !== undefined) yield* membersOf(document, items, `${prefix}[]`, seen);
  for (const shape of anyOf) yield* membersOf(document, shape, prefix, seen);
}

function wordsOf(document: ApiDocument, member: ApiSchema): Pick<SchemaRow, 'type' | 'description'> {
  return { type: typeOf(document, member), description: followed(document, member).description ?? '' };
}

function followed(document: ApiDocument, schema: ApiSchema): ApiSchema {
  return schema.$ref === undefined ? schema : { ...document.components.schemas[nameIn(schema.$ref)], ...schema };
}

/** A short text for the type of a schema. */
export function typeOf(document: ApiDocument, given: ApiSchema): string {
  const schema = followed(document, given);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.anyOf !== undefined) return schema.anyOf.map((each) => typeOf(document, each)).join(' or ');
  if (schema.items !== undefined) return `array of ${typeOf(document, schema.items)}`;
  return schema.format ?? schema.type ?? 'any';
}
