import { shellQuoted } from '../../src/cli/invocation.ts';
import {
  type ApiOperation,
  type OpenApiDocument,
  operationsIn,
  type Parameter,
  type PlacedOperation,
  type Reference,
} from '../../src/http/documentation/openapi-document.ts';
import { anchorOf, type MadePart, table } from './made-parts.ts';

/** The parts that are made from `/openapi.json`. */
export function apiParts(document: OpenApiDocument): readonly MadePart[] {
  const operations = operationsIn(document);
  return [
    ['routes', table(['route', 'operationId', 'who', 'what it does'], operations.map(routeRow))],
    ...operations.map((placed): MadePart => [`example of ${placed.operation.operationId}`, example(placed)]),
    ...Object.entries(errorGroups).map(([group, holds]): MadePart => [`errors ${group}`, errorTable(document, holds)]),
    ['fields of an automation', table(['field', 'type', 'set by', 'meaning'], automationRows(document))],
  ];
}

function routeRow({ method, path, operation }: PlacedOperation): readonly string[] {
  const title = `${method.toUpperCase()} ${path}`;
  const { 'x-roles': roles } = operation;
  const who = typeof roles === 'string' ? roles : roles.join(', ');
  return [`[${title}](#${anchorOf(title)})`, `\`${operation.operationId}\``, who, operation.summary];
}

/** Who may call the operation, a call and its reply. */
function example(placed: PlacedOperation): string {
  const call = curlExample(placed);
  if (call === undefined) throw new Error(`${placed.operation.operationId}: a required value has no example`);
  return [accessOf(placed.operation), `\`\`\`sh\n${call}\n\`\`\``, ...replyOf(placed.operation)].join('\n\n');
}

function accessOf({ 'x-roles': roles }: ApiOperation): string {
  if (roles === 'everyone') return 'Open to everyone.';
  return roles === 'callers' ? 'For every authenticated caller.' : `Roles: ${roles.join(', ')}.`;
}

function replyOf({ responses }: ApiOperation): readonly string[] {
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? [];
  const [content] = Object.values(success?.content ?? {});
  if (content === undefined) return [];
  if (typeof content.example === 'string') return [`\`\`\`text\n${content.example}\n\`\`\``];
  return [`\`\`\`json\n${JSON.stringify(content.example, undefined, 2)}\n\`\`\``];
}

/** The groups of docs/reference/errors.md, by the first status of a code. */
const errorGroups: Readonly<Record<string, (status: number) => boolean>> = {
  'of the request': (status) => status < 500,
  'of the gateway': (status) => status === 500,
  'of the upstream': (status) => status === 502 || status === 504,
  'for now': (status) => status === 503,
};

function errorTable({ 'x-error-codes': codes }: OpenApiDocument, holds: (status: number) => boolean): string {
  const own = Object.entries(codes).filter(
    ([
      ,
      {
        statuses: [first = 0],
      },
    ]) => holds(first),
  );
  const rows = own.map(([code, { statuses, meaning, remedy }]) => [`\`${code}\``, statuses.join(' or '), meaning, remedy]);
  return table(['code', 'status', 'meaning', 'what to do'], rows);
}

/** The keywords of JSON Schema that the table of fields shows. */
interface SchemaView {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly items?: SchemaView;
  readonly properties?: Readonly<Record<string, SchemaView>>;
  readonly required?: readonly string[];
}

interface Field {
  readonly path: string;
  readonly schema: SchemaView;
  readonly required: boolean;
}

/** The fields of an automation in a reply. A field that a request may have too is set by the caller. */
function automationRows({ components: { schemas } }: OpenApiDocument): readonly (readonly string[])[] {
  const fieldsOf = (named: string, parent = ''): readonly Field[] => {
    const { properties = {}, required = [] }: SchemaView = schemas[named] ?? {};
    return Object.entries(properties).flatMap(([name, schema]): readonly Field[] => {
      const path = `${parent}${name}`;
      const below = /\/(\w+)$/u.exec(schema.$ref ?? '')?.[1];
      return below === undefined ? [{ path, schema, required: required.includes(name) }] : fieldsOf(below, `${path}.`);
    });
  };
  const given = new Map(fieldsOf('GivenAutomation').map((field) => [field.path, field]));
  return fieldsOf('Automation').map(({ path, schema }) => {
    const asked = given.get(path);
    const byGateway = asked?.schema.type === undefined;
    const who = byGateway ? 'gateway' : `caller${asked.required ? ', required' : ''}`;
    return [`\`${path}\``, typeOf(schema), who, schema.description ?? ''];
  });
}

function typeOf({ type = '', format, items, enum: values }: SchemaView): string {
  if (items !== undefined) return `list of ${items.type}`;
  return values === undefined ? (format ?? type) : values.map((value) => `\`${value}\``).join(', ');
}

interface CurlTarget {
  readonly method: string;
  readonly path: string;
  readonly operation: ApiOperation;
}

/**
 * A `curl` command for an operation, from its examples. `$GATEWAY` is the gateway's address and `$LOGIN` is `user:password`.
 * Undefined where a required value has no example.
 */
function curlExample({ method, path, operation }: CurlTarget): string | undefined {
  const target = exampleTarget(path, operation.parameters);
  const body = bodyArguments(operation);
  if (target === undefined || body === undefined) return undefined;
  const login = operation['x-roles'] === 'everyone' ? [] : ['-u "$LOGIN"'];
  const implied = operation.requestBody === undefined ? 'get' : 'post';
  const verb = method === implied ? [] : [`-X ${method.toUpperCase()}`];
  return [['curl', ...verb, ...login, `"$GATEWAY${target}"`].join(' '), ...body].join(' \\\n  ');
}

function exampleTarget(path: string, parameters: readonly (Parameter | Reference)[]): string | undefined {
  let target = path;
  const query = new URLSearchParams();
  for (const parameter of parameters) {
    if (!('in' in parameter)) continue;
    const { name, example } = parameter;
    if (parameter.in === 'query' && example !== undefined) query.set(name, String(example));
    if (parameter.in === 'path') target = target.replace(`{${name}}`, encodeURIComponent(String(example ?? '{}')));
  }
  return target.includes('%7B') ? undefined : `${target}${query.size === 0 ? '' : `?${query.toString()}`}`;
}

function bodyArguments({ requestBody }: ApiOperation): readonly string[] | undefined {
  const [entry] = Object.entries(requestBody?.content ?? {});
  if (entry === undefined) return [];
  const [mediaType, { example }] = entry;
  if (example === undefined) return undefined;
  if (mediaType === 'application/x-www-form-urlencoded') {
    return Object.entries(example as Record<string, unknown>).map(
      ([name, value]) => `--data-urlencode ${shellQuoted(`${name}=${String(value)}`)}`,
    );
  }
  return [
    `-H ${shellQuoted(`Content-Type: ${mediaType}`)}`,
    `-d ${shellQuoted(typeof example === 'string' ? example : JSON.stringify(example))}`,
  ];
}
