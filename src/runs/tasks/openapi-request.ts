import { leavesItsSegment } from '#base/path-segment.ts';
import { type JsonNode, JsonTreeReader } from '#json/json-tree.ts';
import type { ProblemList } from '#json/problem-list.ts';
import { isForm, isJson, isXml, readMediaType } from '#relay/media-type.ts';
import { argumentText, type CallArguments } from './arguments.ts';
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
  const sent: SentParameters = { uri: operation.template, headers: {}, cookies: [], query: [], form: [] };
  for (const parameter of operation.parameters) {
    const value = valueOf(parameter, values, problems);
    if (value !== undefined) places[parameter.in](sent, parameter, value);
  }
  notePath(operation, { uri: sent.uri, values }, problems);
  const { query, cookies, form } = sent;
  const { type, body } = form.length > 0 ? formBody(form) : bodyOf(operation.body, given);
  const headers = {
    Accept: 'application/json, */*;q=0.8',
    ...sent.headers,
    ...(cookies.length > 0 && { Cookie: cookies.join('; ') }),
    ...(body !== undefined && type !== undefined && { 'Content-Type': type }),
  };
  const joint = sent.uri.includes('?') ? '&' : '?';
  return { uri: query.length === 0 ? sent.uri : `${sent.uri}${joint}${query.join('&')}`, headers, body };
}

/** What the parameters give, as it grows. */
interface SentParameters {
  uri: string;
  readonly headers: Record<string, string>;
  readonly cookies: string[];
  /** Encoded. */
  readonly query: string[];
  /** Members of a JSON object. */
  readonly form: string[];
}

type Put = (sent: SentParameters, parameter: OpenApiParameter, value: JsonNode) => void;

const places: Readonly<Record<OpenApiParameter['in'], Put>> = {
  path(sent, parameter, value) {
    sent.uri = sent.uri.replaceAll(`{${parameter.name}}`, () => encodeURIComponent(joined(parameter, value)));
  },
  header(sent, parameter, value) {
    sent.headers[parameter.name] = joined(parameter, value);
  },
  query: ({ query }, parameter, value) =>
    void query.push(...pairs(parameter, value).map((pair) => pair.map(encodeURIComponent).join('='))),
  cookie: ({ cookies }, parameter, value) =>
    void cookies.push(
      ...pairs(parameter, value).map(([name, text]) => `${encoded(name, noCookieName)}=${encoded(text, noCookieOctet)}`),
    ),
  form: ({ form }, parameter, value) =>
    void form.push(...pairs(parameter, value).map(([name, text]) => `${JSON.stringify(name)}:${JSON.stringify(text)}`)),
};

/** What RFC 6265 (4.1.1) does not allow in the name and in the value of a cookie. */
const noCookieName = /[^!#$&'*+.^`|~\w-]/gu;
const noCookieOctet = /[^\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]/gu;

function encoded(text: string, unwanted: RegExp): string {
  return text.replaceAll(unwanted, (character) =>
    Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
}

/** A value that is part of the path is not empty, and stays in its segment. */
function notePath(
  { template, parameters }: OpenApiOperation,
  { uri, values }: { readonly uri: string; readonly values: ReadonlyMap<string, JsonNode> },
  problems: ProblemList,
): void {
  const written = template.split('/');
  const segments = uri.split('/');
  for (const parameter of parameters) {
    const { name } = parameter;
    const value = values.get(name);
    if (parameter.in !== 'path' || value === undefined) continue;
    const climbs = segments.some((segment, index) => written[index]?.includes(`{${name}}`) && leavesItsSegment(segment));
    if (climbs || joined(parameter, value) === '')
      problems.add(
        '/parameters',
        `has a value in ${JSON.stringify(name)} that is empty, or that leads out of its segment of the path`,
      );
  }
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
  if (leaves(value).some((leaf) => argumentText(leaf) === undefined)) {
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
  return (argumentText(value) ?? '').toWellFormed();
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
