import { type JsonNode, JsonTreeReader } from '#json/json-tree.ts';
import type { ProblemList } from '#json/problem-list.ts';
import { isForm, isJson, isXml, readMediaType } from '#relay/media-type.ts';
import { type CallArguments, scalarText } from './arguments.ts';
import type { OpenApiBody, OpenApiOperation, OpenApiParameter } from './openapi-operation.ts';

/** The parts of a request that the parameters of a task give. */
interface OpenApiRequest {
  readonly uri: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body: Buffer | undefined;
}

/** Puts the `parameters` of a task into the places that the operation declares. Notes each problem in the arguments. */
export function openapiRequest(operation: OpenApiOperation, given: CallArguments): OpenApiRequest {
  const values = new Map(given.members('parameters'));
  const { problems } = given;
  noteUnknown(operation, values, problems);
  const headers: Record<string, string> = { Accept: 'application/json, */*;q=0.8' };
  const cookies: string[] = [];
  const query: string[] = [];
  const form: string[] = [];
  let uri = operation.template;
  for (const parameter of operation.parameters) {
    const value = valueOf(parameter, values, problems);
    if (value === undefined) continue;
    const { name } = parameter;
    if (parameter.in === 'path') uri = uri.replaceAll(`{${name}}`, () => encodeURIComponent(joined(parameter, value)));
    else if (parameter.in === 'header') headers[name] = joined(parameter, value);
    else if (parameter.in === 'query')
      query.push(...pairs(parameter, value).map((pair) => pair.map(encodeURIComponent).join('=')));
    else if (parameter.in === 'cookie') cookies.push(...pairs(parameter, value).map((pair) => pair.join('=')));
    else form.push(...pairs(parameter, value).map(([key, text]) => `${JSON.stringify(key)}:${JSON.stringify(text)}`));
  }
  if (cookies.length > 0) headers['Cookie'] = cookies.join('; ');
  if (query.length > 0) uri += `${uri.includes('?') ? '&' : '?'}${query.join('&')}`;
  const { type, body } = form.length > 0 ? formBody(form) : bodyOf(operation.body, given);
  if (body !== undefined && type !== undefined) headers['Content-Type'] = type;
  return { uri, headers, body };
}

function noteUnknown({ parameters, body }: OpenApiOperation, values: ReadonlyMap<string, JsonNode>, problems: ProblemList): void {
  const known = new Set([...parameters.map(({ name }) => name), ...(body === undefined ? [] : [body.name])]);
  for (const name of values.keys())
    if (!known.has(name)) problems.add('/parameters', `has ${JSON.stringify(name)}, which the operation does not have`);
}

/** Undefined where the task gives none. */
function valueOf(
  parameter: OpenApiParameter,
  values: ReadonlyMap<string, JsonNode>,
  problems: ProblemList,
): JsonNode | undefined {
  const { name, required } = parameter;
  const value = values.get(name);
  if (value === undefined || value.kind === 'null') {
    if (required) problems.add('/parameters', `lacks ${JSON.stringify(name)}, which the operation needs`);
    return undefined;
  }
  if (leaves(value).some((leaf) => scalarText(leaf) === undefined)) {
    problems.add('/parameters', `has nested values in ${JSON.stringify(name)}, which cannot be part of an address or a header`);
    return undefined;
  }
  return value;
}

function leaves(value: JsonNode): readonly JsonNode[] {
  if (value.kind === 'array') return value.items;
  return value.kind === 'object' ? value.members.map(([, inner]) => inner) : [value];
}

function textOf(value: JsonNode): string {
  return (scalarText(value) ?? '').toWellFormed();
}

/** The style `simple`: one text. */
function joined({ explode, style }: OpenApiParameter, value: JsonNode): string {
  const separator = separators[style];
  if (value.kind !== 'object') return leaves(value).map(textOf).join(separator);
  return value.members.map(([name, inner]) => `${name}${explode ? '=' : ','}${textOf(inner)}`).join(separator);
}

const separators = { simple: ',', form: ',', deepObject: ',', spaces: ' ', tabs: '\t', pipes: '|' } as const;

/** The styles of a query: parameters by name. */
function pairs(parameter: OpenApiParameter, value: JsonNode): readonly (readonly [string, string])[] {
  const { name, style, explode } = parameter;
  if (value.kind === 'object' && style === 'deepObject')
    return value.members.map(([key, inner]) => [`${name}[${key}]`, textOf(inner)]);
  if (value.kind === 'object' && explode) return value.members.map(([key, inner]) => [key, textOf(inner)]);
  if (value.kind === 'array' && explode) return value.items.map((item) => [name, textOf(item)]);
  return [[name, joined(parameter, value)]];
}

interface TypedBody {
  readonly type: string | undefined;
  readonly body: Buffer | undefined;
}

function formBody(members: readonly string[]): TypedBody {
  return { type: 'application/x-www-form-urlencoded', body: Buffer.from(`{${members.join(',')}}`) };
}

function bodyOf(declared: OpenApiBody | undefined, given: CallArguments): TypedBody {
  if (declared === undefined) return { type: undefined, body: undefined };
  const body = memberSpan(given.span('parameters'), declared.name);
  if (body === undefined && declared.required)
    given.problems.add('/parameters', `lacks ${JSON.stringify(declared.name)}, the body that the operation needs`);
  return { type: mediaTypeOf(declared.mediaTypes), body };
}

/** The first JSON type, else the first form or XML type, else the first one. */
function mediaTypeOf(mediaTypes: readonly string[]): string {
  const concrete = mediaTypes.filter((type) => !type.includes('*'));
  const first = (is: typeof isJson): string | undefined =>
    concrete.find((type) => {
      const read = readMediaType(type);
      return read !== undefined && is(read);
    });
  return first(isJson) ?? first(isForm) ?? first(isXml) ?? concrete[0] ?? 'application/json';
}

/** The bytes of a member as they are written. */
function memberSpan(object: Buffer | undefined, name: string): Buffer | undefined {
  if (object === undefined) return undefined;
  const reader = new JsonTreeReader(object, { opaque: [{ pointer: '/', segments: [name] }] });
  reader.read();
  return reader.spans.get('/');
}
