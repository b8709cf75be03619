import { climbingSegment } from '#base/path-segment.ts';
import type { Located } from '#yaml/located.ts';
import { shown } from '#yaml/wording.ts';
import type { DataSchema, Expression, ExternalResource } from '../workflow.ts';
import { authentication } from './authentication.ts';
import type { Context } from './context.ts';
import { expressionIn, quoted } from './jq-source.ts';
import { membersOf, readText } from './members.ts';
import type { Scope } from './scope.ts';
import { collection, lineExpression, nothing } from './template.ts';

/** What an address may hold in addition to `{name}` (RFC 6570, 2.1). */
const literal = /^(?:[^\p{Cc} "'<>%\\^`{|}]|%[\da-f]{2})*$/iu;

/** An address: an expression, or a text with `{name}` for members of the input. */
function address(context: Context, node: Located, scope: Scope): Expression {
  const { reading } = context;
  if (node.kind !== 'string') {
    reading.wrongKind(node, 'an address, such as https://example.net/devices/{device}');
    return nothing;
  }
  const found = lineExpression(context, node, scope);
  if (found !== undefined) return found;
  if (expressionIn(node.value) === 'partial')
    reading.problem(node, `has \${ } within an address; write {name} for a member of the input, or \${ "https://…/\\(.name)" }`);
  else if (/^https?:\/\/[^/]/iu.test(node.value)) return expanded(context, node, node.value);
  else
    reading.problem(node, `${shown(node.value)} is no address; write http:// or https:// and a host, or an expression in \${ }`);
  return nothing;
}

/** A URI that is no address to call: it names something. */
export function checkUri(context: Context, node: Located, scope: Scope, example: string): void {
  if (lineExpression(context, node, scope) !== undefined) return;
  if (node.kind !== 'string') context.reading.wrongKind(node, 'a URI in quotes');
  else if (!/^[a-z][a-z\d+\-.]*:\/\//iu.test(node.value) || !literal.test(node.value))
    context.reading.problem(node, `${shown(node.value)} is no URI with "://"; write one such as ${example}`);
}

/** Simple string expansion of RFC 6570. */
function expanded({ reading }: Context, node: Located, uri: string): Expression {
  const parts = uri.split(/\{([^{}]*)\}/u);
  const texts = parts.filter((_, index) => index % 2 === 0);
  const names = parts.filter((_, index) => index % 2 === 1);
  if (!texts.every((text) => literal.test(text)))
    reading.problem(node, 'holds a character that no address may have; percent-encode it, such as %20 for a space');
  for (const name of names.filter((one) => !/^\w+$/u.test(one)))
    reading.problem(
      node,
      `has ${shown(`{${name}}`)}; between { and } there is one name of letters, digits and _, without an operator of RFC 6570`,
    );
  if (names.length === 0) return { jq: quoted(uri), constant: quoted(uri) };
  const [, origin = '', path = '', rest = ''] = /^(https?:\/\/[^/?#]*)([^?#]*)(.*)$/isu.exec(uri) ?? [];
  const segments = path.split('/').map(segment);
  return { jq: `${joined(origin, '')} + ${segments.join(' + "/" + ')} + ${joined(rest, '')}` };
}

/** A segment of the path. The values in it do not lead out of it. */
function segment(text: string): string {
  if (!text.includes('{')) return quoted(text);
  const message = quoted(`the path segment ${text} of the address would lead elsewhere: it would be empty, or a segment of dots`);
  const empty = `error(${message})`;
  return `(${joined(text, empty)} | if test(${quoted(climbingSegment)}; "i") then ${empty} else . end)`;
}

/** A text with `{name}` for members of the input. `none`: what is in place of an empty value. */
function joined(text: string, none: string): string {
  const parts = text.split(/\{([^{}]*)\}/u);
  return parts.map((part, index) => (index % 2 === 0 ? quoted(part) : variable(part, none))).join(' + ');
}

function variable(name: string, none: string): string {
  const message = quoted(`{${name}} of the address is an `);
  const value =
    `(.[${quoted(name)}] | if . == null then "" elif type == "object" or type == "array" ` +
    `then error(${message} + type + "; only text, numbers, true and false can be part of an address") else tostring | @uri end)`;
  return none === '' ? value : `(${value} | if . == "" then ${none} else . end)`;
}

/** `endpoint` as the document wrote it: an address, or an object with `uri` and `authentication`. */
export function endpoint(context: Context, node: Located, scope: Scope): Expression {
  if (node.kind !== 'object') return address(context, node, scope);
  const members = membersOf(context.reading, node, { wanted: 'an endpoint', known: ['uri', 'authentication'] });
  const uri = members.required('uri', 'the address of the endpoint');
  const credentials = members.get('authentication');
  return collection('{}', [
    ['"uri":', uri === undefined ? nothing : address(context, uri, scope)],
    ...(credentials === undefined ? [] : [['"authentication":', authentication(context, credentials, scope)] as const]),
  ]);
}

/** `{ name?, endpoint }`, as the document wrote it and as `{ uri, authentication? }`. */
export function externalResource(
  context: Context,
  node: Located,
  scope: Scope,
): { readonly written: Expression; readonly resource: ExternalResource } {
  const members = membersOf(context.reading, node, { wanted: 'an object with "endpoint"', known: ['name', 'endpoint'] });
  members.text('name', 'a name');
  const at = members.required('endpoint', 'the address of the document');
  const found = at === undefined ? nothing : endpoint(context, at, scope);
  return {
    written: collection('{}', [['"endpoint":', found]]),
    resource: { endpoint: at?.kind === 'object' ? found : collection('{}', [['"uri":', found]]) },
  };
}

/** `schema` of an input, an output or an export. */
export function dataSchema(context: Context, node: Located, scope: Scope): DataSchema {
  const { reading } = context;
  const known = ['format', 'document', 'resource'];
  const members = membersOf(reading, node, { wanted: 'an object with "document" or "resource"', known });
  const [document, resource, format] = [members.get('document'), members.get('resource'), members.get('format')];
  if (format !== undefined) checkFormat(context, format);
  if (node.kind === 'object' && (document === undefined) === (resource === undefined))
    reading.problem(node, 'needs either "document" (the schema itself) or "resource" (where it is)');
  const { pointer } = node;
  if (resource !== undefined) return { pointer, resource: externalResource(context, resource, scope).resource };
  return { pointer, document: document === undefined ? 'true' : schemaText(context, document) };
}

function checkFormat({ reading }: Context, node: Located): void {
  const format = readText(reading, node, 'json');
  if (format !== undefined && !/^json(?::.+)?$/u.test(format))
    reading.problem(node, `${shown(format)} is unknown here; the gateway knows json (JSON Schema 2020-12)`);
}

function schemaText({ reading }: Context, node: Located): string {
  if (node.kind !== 'object' && node.kind !== 'boolean') reading.wrongKind(node, 'a JSON Schema, such as { type: object }');
  return node.json;
}
