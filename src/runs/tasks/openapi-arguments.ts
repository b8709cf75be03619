import { leavesItsSegment } from '#base/text/path-segment.ts';
import { type JsonNode, JsonTreeReader } from '#json/json-tree.ts';
import { isForm, isJson, isXml, readMediaType } from '#relay/media-type.ts';
import { argumentText, type CallArguments, type PreparedCall } from './arguments.ts';
import type { OpenApiBody, OpenApiOperation, OpenApiParameter } from './described-operation.ts';
import { authenticationIn, endpointIn, preparedRestCall, replyIn } from './rest-arguments.ts';
import type { DocumentRequest, Failed, TaskDocuments } from './task-documents.ts';

/**
 * `call: openapi`: fetches the document where the run does not have it yet. Throws `invalid-request` with every problem of the arguments, or
 * the first one of the document.
 */
export async function openapiArguments(
  given: CallArguments,
  documents: TaskDocuments,
  calling: Omit<DocumentRequest, 'endpoint'>,
  signal: AbortSignal,
): Promise<PreparedCall | Failed> {
  const endpoint = endpointIn(given.object('document'), 'endpoint');
  const operationId = given.requiredText('operationId');
  const authentication = authenticationIn(given);
  const reply = replyIn(given);
  given.check();
  const operation = await documents.findOperation({ ...calling, endpoint }, operationId, signal);
  if ('result' in operation || 'lost' in operation) return operation;
  const request = requestOf(operation, given);
  given.check();
  return preparedRestCall({ ...request, authentication, verb: operation.verb, ...reply });
}

type Values = ReadonlyMap<string, JsonNode>;
type Note = (problem: string) => void;

/** Puts the `parameters` of a task into the places that the operation declares. Notes each problem in the arguments. */
function requestOf(operation: OpenApiOperation, given: CallArguments) {
  const values: Values = new Map(given.members('parameters'));
  const note: Note = (problem) => given.problems.add('/parameters', problem);
  noteUnknown(operation, values, note);
  const sent: SentParameters = { uri: operation.template, headers: {}, cookies: [], query: [], form: [] };
  for (const parameter of operation.parameters) {
    const value = valueOf(parameter, values, note);
    if (value !== undefined) places[parameter.in](sent, parameter, value);
  }
  notePath(operation, sent.uri, values, note);
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

interface SentParameters {
  uri: string;
  readonly headers: Record<string, string>;
  readonly cookies: string[];
  readonly query: string[];
  /** Members of a JSON object. */
  readonly form: string[];
}

const places: Readonly<
  Record<OpenApiParameter['in'], (sent: SentParameters, parameter: OpenApiParameter, value: JsonNode) => void>
> = {
  path(sent, parameter, value) {
    sent.uri = sent.uri.replaceAll(`{${parameter.name}}`, () => encodeURIComponent(join(parameter, value)));
  },
  header(sent, parameter, value) {
    sent.headers[parameter.name] = join(parameter, value);
  },
  query: ({ query }, parameter, value) =>
    void query.push(...pairs(parameter, value).map((pair) => pair.map(encodeURIComponent).join('='))),
  cookie: ({ cookies }, parameter, value) =>
    void cookies.push(
      ...pairs(parameter, value).map(
        ([name, text]) => `${encodeOctets(name, noCookieName)}=${encodeOctets(text, noCookieOctet)}`,
      ),
    ),
  form: ({ form }, parameter, value) =>
    void form.push(...pairs(parameter, value).map(([name, text]) => `${JSON.stringify(name)}:${JSON.stringify(text)}`)),
};

/** What RFC 6265 (4.1.1) does not allow in the name and in the value of a cookie. */
const noCookieName = /[^!#$&'*+.^`|~\w-]/gu;
const noCookieOctet = /[^\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]/gu;

function encodeOctets(text: string, unwanted: RegExp): string {
  return text.replaceAll(unwanted, (character) =>
    Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
}

/** A value that is part of the path is not empty, and stays in its segment. */
function notePath({ template, parameters }: OpenApiOperation, uri: string, values: Values, note: Note): void {
  const written = template.split('/');
  const segments = uri.split('/');
  for (const parameter of parameters) {
    const { name } = parameter;
    const value = values.get(name);
    if (parameter.in !== 'path' || value === undefined) continue;
    const climbs = segments.some((segment, index) => written[index]?.includes(`{${name}}`) && leavesItsSegment(segment));
    if (climbs || join(parameter, value) === '')
      note(`has a value in ${JSON.stringify(name)} that is empty, or that leads out of its segment of the path`);
  }
}

function noteUnknown({ parameters, body }: OpenApiOperation, values: Values, note: Note): void {
  const known = new Set([...parameters.map(({ name }) => name), body?.name]);
  for (const name of values.keys()) if (!known.has(name)) note(`has ${JSON.stringify(name)}, which the operation does not have`);
}

/** Undefined where the task gives none. */
function valueOf({ name, required }: OpenApiParameter, values: Values, note: Note): JsonNode | undefined {
  const value = values.get(name);
  if (value === undefined || value.kind === 'null') {
    if (required) note(`lacks ${JSON.stringify(name)}, which the operation needs`);
    return undefined;
  }
  if (leaves(value).every((leaf) => argumentText(leaf) !== undefined)) return value;
  note(`has nested values in ${JSON.stringify(name)}, which cannot be part of an address or a header`);
  return undefined;
}

function leaves(value: JsonNode): readonly JsonNode[] {
  if (value.kind === 'array') return value.items;
  return value.kind === 'object' ? value.members.map(([, inner]) => inner) : [value];
}

function textOf(value: JsonNode): string {
  return (argumentText(value) ?? '').toWellFormed();
}

function join({ explode, style }: OpenApiParameter, value: JsonNode): string {
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
  return [[name, join(parameter, value)]];
}

interface TypedBody {
  readonly type?: string;
  readonly body?: Buffer | undefined;
}

function formBody(members: readonly string[]): TypedBody {
  return { type: 'application/x-www-form-urlencoded', body: Buffer.from(`{${members.join(',')}}`) };
}

function bodyOf(declared: OpenApiBody | undefined, given: CallArguments): TypedBody {
  if (declared === undefined) return {};
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

function memberSpan(object: Buffer | undefined, name: string): Buffer | undefined {
  if (object === undefined) return undefined;
  const reader = new JsonTreeReader(object, { opaque: [{ pointer: '/', segments: [name] }] });
  reader.read();
  return reader.spans.get('/');
}
