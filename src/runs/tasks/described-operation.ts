import { GatewayError } from '#base/gateway-error.ts';
import { verbs } from './arguments.ts';

type Plain = Readonly<Record<string, unknown>>;
type Verb = (typeof verbs)[number];

export interface OpenApiParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'cookie' | 'form';
  readonly required: boolean;
  /** `form`: separated by commas in `name=…`, or with `explode` as parameters of their own. `deepObject`: `name[key]=…`. */
  readonly style: 'simple' | 'form' | 'deepObject' | 'spaces' | 'tabs' | 'pipes';
  readonly explode: boolean;
}

export interface OpenApiBody {
  /** The parameter of the task that is the body. */
  readonly name: string;
  readonly required: boolean;
  /** In the order of the document. */
  readonly mediaTypes: readonly string[];
}

export interface OpenApiOperation {
  readonly verb: Verb;
  /** The address of the server and the path, with `{name}` for parameters. */
  readonly template: string;
  readonly parameters: readonly OpenApiParameter[];
  readonly body: OpenApiBody | undefined;
}

/**
 * Finds an operation of an OpenAPI 3 or Swagger 2.0 document. `address`: of the document. Throws `invalid-request` where the document or the
 * operation cannot be used.
 */
export function findOperation(document: unknown, operationId: string, address: string): OpenApiOperation {
  const root = plain(document);
  const is2 = root['swagger'] === '2.0';
  if (!is2 && !textOr(root['openapi'], '').startsWith('3.'))
    throw unusable('is no OpenAPI document of version 3.x, and no Swagger document of version 2.0');
  for (const [path, written] of Object.entries(plain(root['paths']))) {
    const item = resolve(root, written);
    for (const [method, candidate] of Object.entries(item)) {
      const operation = plain(candidate);
      if (operation['operationId'] !== operationId) continue;
      const verb = verbs.find((known) => known === method.toUpperCase());
      if (verb === undefined)
        throw unusable(`has the method ${method.slice(0, 20)} for the operation, which the gateway does not send`);
      const found: FoundOperation = { root, item, operation };
      const server = is2 ? serverOf2(found, address) : serverOf3(found, address);
      return { verb, template: `${server}${path}`, ...(is2 ? inputsOf2(found) : inputsOf3(found)) };
    }
  }
  throw unusable(`has no operation ${JSON.stringify(operationId.slice(0, 200))}`);
}

function unusable(problem: string): GatewayError {
  return new GatewayError('invalid-request', `The OpenAPI document ${problem}.`);
}

interface FoundOperation {
  readonly root: Plain;
  readonly item: Plain;
  readonly operation: Plain;
}

function resolve(root: Plain, value: unknown): Plain {
  let found = plain(value);
  for (let hops = 0; typeof found['$ref'] === 'string'; hops += 1) {
    if (hops === 10) throw unusable('has a $ref that leads to no value');
    const reference = found['$ref'];
    if (!reference.startsWith('#/')) throw unusable('has a $ref to another document, which the gateway does not fetch');
    found = root;
    for (const segment of decodeFragment(reference.slice(2)).split('/')) {
      const name = segment.replaceAll('~1', '/').replaceAll('~0', '~');
      found = plain(Object.hasOwn(found, name) ? found[name] : undefined);
    }
  }
  return found;
}

function decodeFragment(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    throw unusable('has a $ref with a malformed percent sequence');
  }
}

function serverOf3({ root, item, operation }: FoundOperation, address: string): string {
  const [first] = [operation, item, root].flatMap(({ servers }) => list(servers).slice(0, 1));
  const server = plain(first);
  const url = typeof server['url'] === 'string' ? server['url'] : '/';
  const variables = plain(server['variables']);
  return absolute(
    url.replaceAll(/\{([^{}]*)\}/gu, (_written, name: string) => textOr(plain(variables[name])['default'], '')),
    address,
  );
}

function serverOf2({ root, operation }: FoundOperation, address: string): string {
  const { protocol, host: documentHost } = new URL(address);
  const schemes = [operation['schemes'], root['schemes']].find(Array.isArray) ?? [protocol.slice(0, -1)];
  const scheme = ['https', 'http'].find((known) => schemes.includes(known));
  if (scheme === undefined) throw unusable('names no scheme that the gateway speaks: http or https');
  const host = textOr(root['host'], documentHost);
  return absolute(`${scheme}://${host}${textOr(root['basePath'], '')}`, address);
}

/** Without a slash at its end: a path begins with one. */
function absolute(url: string, base: string): string {
  const found = URL.parse(url, base);
  if (found === null) throw unusable('names no address for its server');
  return found.href.replace(/\/$/u, '');
}

type Inputs = Pick<OpenApiOperation, 'parameters' | 'body'>;

/** Those of the operation are before those of its path, which they replace. */
function findParameters({ root, item, operation }: FoundOperation): readonly Plain[] {
  const found = new Map<string, Plain>();
  for (const written of [...list(operation['parameters']), ...list(item['parameters'])]) {
    const parameter = resolve(root, written);
    const key = JSON.stringify([parameter['in'], parameter['name']]);
    if (!found.has(key)) found.set(key, parameter);
  }
  return [...found.values()];
}

function inputsOf3(found: FoundOperation): Inputs {
  const parameters = findParameters(found).map((parameter): OpenApiParameter => {
    const place = placeOf(parameter);
    const usual = place === 'query' || place === 'cookie' ? 'form' : 'simple';
    const style = styles3.get(textOr(parameter['style'], usual));
    if (style === undefined)
      throw unusable(`has a parameter with the style ${textOr(parameter['style'], usual)}, which is not supported`);
    return { ...nameOf(parameter), in: place, style, explode: Boolean(parameter['explode'] ?? style === 'form') };
  });
  const written = found.operation['requestBody'];
  if (written === undefined) return { parameters, body: undefined };
  const body = resolve(found.root, written);
  return {
    parameters,
    body: { name: 'body', required: body['required'] === true, mediaTypes: Object.keys(plain(body['content'])) },
  };
}

const styles3 = new Map([
  ['simple', 'simple'],
  ['form', 'form'],
  ['deepObject', 'deepObject'],
  ['spaceDelimited', 'spaces'],
  ['pipeDelimited', 'pipes'],
] as const satisfies readonly (readonly [string, OpenApiParameter['style']])[]) as ReadonlyMap<string, OpenApiParameter['style']>;

function inputsOf2(found: FoundOperation): Inputs {
  const all = findParameters(found);
  const { root, operation } = found;
  const consumes = [operation['consumes'], root['consumes']].find(Array.isArray) ?? [];
  const mediaTypes = consumes.filter((type): type is string => typeof type === 'string');
  const body = all.find((parameter) => parameter['in'] === 'body');
  const parameters = all
    .filter((parameter) => parameter !== body)
    .map((parameter): OpenApiParameter => {
      if (parameter['type'] === 'file') throw unusable('has a parameter for a file, which is not supported');
      const place = placeOf(parameter);
      const format = textOr(parameter['collectionFormat'], 'csv');
      const style = format === 'csv' && (place === 'path' || place === 'header') ? 'simple' : styles2.get(format);
      if (style === undefined) throw unusable(`has a parameter with the collectionFormat ${format}, which is not supported`);
      return { ...nameOf(parameter), in: place, style, explode: format === 'multi' };
    });
  if (body === undefined) return { parameters, body: undefined };
  const { name, required } = nameOf(body);
  return { parameters, body: { name, required, mediaTypes } };
}

const styles2: ReadonlyMap<string, OpenApiParameter['style']> = new Map([
  ['csv', 'form'],
  ['multi', 'form'],
  ['ssv', 'spaces'],
  ['tsv', 'tabs'],
  ['pipes', 'pipes'],
]);

const places: ReadonlyMap<unknown, OpenApiParameter['in']> = new Map([
  ['path', 'path'],
  ['query', 'query'],
  ['header', 'header'],
  ['cookie', 'cookie'],
  ['formData', 'form'],
]);

function placeOf(parameter: Plain): OpenApiParameter['in'] {
  const place = places.get(parameter['in']);
  if (place === undefined || typeof parameter['name'] !== 'string') throw unusable('has a parameter without a place or a name');
  return place;
}

function nameOf(parameter: Plain): Pick<OpenApiParameter, 'name' | 'required'> {
  return { name: textOr(parameter['name'], ''), required: parameter['required'] === true || parameter['in'] === 'path' };
}

function textOr(value: unknown, other: string): string {
  return typeof value === 'string' ? value : other;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function plain(value: unknown): Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Plain) : {};
}
