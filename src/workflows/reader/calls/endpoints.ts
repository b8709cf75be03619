import { climbingSegment } from '#base/text/path-segment.ts';
import { membersOf, readText } from '#yaml/document-members.ts';
import type { Located } from '#yaml/located.ts';
import { quote } from '#yaml/wording.ts';
import type { DataSchema, Expression, ExternalResource } from '../../workflow.ts';
import { type Context, type Scope, suggestion } from '../context.ts';
import { expressionIn, jqString, pairSuffix } from '../jq-source.ts';
import {
  credentialMembers,
  endpointMembers,
  memberNames,
  policyMembers,
  resourceMembers,
  schemaMembers,
} from '../member-table.ts';
import { collection, inner, lineExpression, nothing, textOrExpression } from '../template.ts';

/** Apart from `{name}` (RFC 6570, 2.1). */
const literal = /^(?:[^\p{Cc} "'<>%\\^`{|}]|%[\da-f]{2})*$/iu;

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
  else if (/^https?:\/\/[^/]/iu.test(node.value)) return expand(context, node, node.value);
  else
    reading.problem(node, `${quote(node.value)} is no address; write http:// or https:// and a host, or an expression in \${ }`);
  return nothing;
}

/** A URI as a name, not as an address to call. */
export function checkUri(context: Context, node: Located, scope: Scope, example: string): void {
  if (lineExpression(context, node, scope) !== undefined) return;
  if (node.kind !== 'string') context.reading.wrongKind(node, 'a URI in quotes');
  else if (!/^[a-z][a-z\d+\-.]*:\/\//iu.test(node.value) || !literal.test(node.value))
    context.reading.problem(node, `${quote(node.value)} is no URI with "://"; write one such as ${example}`);
}

function expand({ reading }: Context, node: Located, uri: string): Expression {
  const parts = uri.split(/\{([^{}]*)\}/u);
  const texts = parts.filter((_, index) => index % 2 === 0);
  const names = parts.filter((_, index) => index % 2 === 1);
  if (!texts.every((text) => literal.test(text)))
    reading.problem(node, 'holds a character that no address may have; percent-encode it, such as %20 for a space');
  for (const name of names.filter((one) => !/^\w+$/u.test(one)))
    reading.problem(
      node,
      `has ${quote(`{${name}}`)}; between { and } there is one name of letters, digits and _, without an operator of RFC 6570`,
    );
  if (names.length === 0) return { jq: jqString(uri), constant: jqString(uri) };
  const [, origin = '', path = '', rest = ''] = /^(https?:\/\/[^/?#]*)([^?#]*)(.*)$/isu.exec(uri) ?? [];
  const segments = path.split('/').map(segment);
  return { jq: `${join(origin, '')} + ${segments.join(' + "/" + ')} + ${join(rest, '')}` };
}

/** The values in a segment must not lead out of it. */
function segment(text: string): string {
  if (!text.includes('{')) return jqString(text);
  const message = jqString(
    `the path segment ${text} of the address would lead elsewhere: it would be empty, or a segment of dots`,
  );
  const empty = `error(${message})`;
  return `(${join(text, empty)} | if test(${jqString(climbingSegment)}; "i") then ${empty} else . end)`;
}

/** `none`: jq in place of an empty value. */
function join(text: string, none: string): string {
  const parts = text.split(/\{([^{}]*)\}/u);
  return parts.map((part, index) => (index % 2 === 0 ? jqString(part) : variable(part, none))).join(' + ');
}

function variable(name: string, none: string): string {
  const message = jqString(`{${name}} of the address is an `);
  const value =
    `(.[${jqString(name)}] | if . == null then "" elif type == "object" or type == "array" ` +
    `then error(${message} + type + "; only text, numbers, true and false can be part of an address") else tostring | @uri end)`;
  return none === '' ? value : `(${value} | if . == "" then ${none} else . end)`;
}

/** As the document has it: an address, or `{ uri, authentication }`. */
export function endpoint(context: Context, node: Located, scope: Scope): Expression {
  if (node.kind !== 'object') return address(context, node, scope);
  const members = membersOf(context.reading, node, { wanted: 'an endpoint', known: memberNames(endpointMembers) });
  const uri = members.required('uri', 'the address of the endpoint');
  const credentials = members.get('authentication');
  return collection('{}', [
    ['"uri":', uri === undefined ? nothing : address(context, uri, scope)],
    ...(credentials === undefined ? [] : [['"authentication":', authentication(context, credentials, scope)] as const]),
  ]);
}

/** `{ name?, endpoint }`, as written and as `{ uri, authentication? }`. */
export function externalResource(
  context: Context,
  node: Located,
  scope: Scope,
): { readonly written: Expression; readonly resource: ExternalResource } {
  const members = membersOf(context.reading, node, { wanted: 'an object with "endpoint"', known: memberNames(resourceMembers) });
  members.text('name', 'a name');
  const at = members.required('endpoint', 'the address of the document');
  const found = at === undefined ? nothing : endpoint(context, at, scope);
  return {
    written: collection('{}', [['"endpoint":', found]]),
    resource: { endpoint: at?.kind === 'object' ? found : collection('{}', [['"uri":', found]]) },
  };
}

export function dataSchema(context: Context, node: Located, scope: Scope): DataSchema {
  const { reading } = context;
  const members = membersOf(reading, node, {
    wanted: 'an object with "document" or "resource"',
    known: memberNames(schemaMembers),
  });
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
    reading.problem(node, `${quote(format)} is unknown here; the gateway knows json (JSON Schema 2020-12)`);
}

function schemaText({ reading }: Context, node: Located): string {
  if (node.kind !== 'object' && node.kind !== 'boolean') reading.wrongKind(node, 'a JSON Schema, such as { type: object }');
  return node.json;
}

const reason =
  'is not supported: the gateway authenticates by basic or bearer; get a token with a call of its own and send it as bearer';

const refused = {
  digest: reason,
  oauth2: reason,
  oidc: reason,
  certificate: 'is not supported: client certificates are part of the configuration of the gateway (outbound.tls)',
} as const;

const schemes = memberNames(policyMembers);

/** A policy, or `use` with the name of one. */
export function authentication(context: Context, node: Located, scope: Scope): Expression {
  const use = node.kind === 'object' ? node.members.find(({ name }) => name === 'use') : undefined;
  if (use === undefined) return policy(context, node, scope);
  const members = membersOf(context.reading, node, { wanted: 'an object', known: ['use'] });
  const name = members.text('use', 'the name of an authentication in use.authentications');
  const found = name === undefined ? undefined : context.definitions.find(context.reading, 'authentications', name, use.value);
  return found === undefined ? nothing : policy(context, found, scope);
}

export function policy(context: Context, node: Located, scope: Scope): Expression {
  const { reading } = context;
  const members = membersOf(reading, node, { wanted: 'an object with "basic" or "bearer"', known: schemes, refused });
  const given = schemes.filter((scheme) => members.get(scheme) !== undefined);
  const [scheme] = given;
  const value = scheme === undefined ? undefined : members.get(scheme);
  if (
    node.kind === 'object' &&
    (given.length > 1 || (scheme === undefined && !node.members.some(({ name }) => Object.hasOwn(refused, name))))
  )
    reading.problem(node, 'needs exactly one of "basic" and "bearer"');
  if (scheme === undefined || value === undefined) return nothing;
  return collection('{}', [[`"${scheme}":`, credentials(context, value, scope, scheme)]]);
}

function credentials(context: Context, node: Located, scope: Scope, scheme: 'basic' | 'bearer'): Expression {
  const fields: readonly string[] = memberNames(credentialMembers[scheme]);
  const bySecret = node.kind === 'object' && node.members.some(({ name }) => name === 'use');
  const wanted = `an object with ${fields.map((field) => `"${field}"`).join(' and ')}, or with "use" and the name of a secret`;
  const members = membersOf(context.reading, node, { wanted, known: bySecret ? ['use'] : fields });
  if (bySecret) return secret(context, node, members.text('use', 'the name of a secret'), scheme);
  if (node.kind !== 'object') return nothing;
  return collection(
    '{}',
    fields.map((field) => {
      const value = members.required(field, `the ${field} to send; use the name of a secret to keep it out of the document`);
      return [`"${field}":`, value === undefined ? nothing : textOrExpression(context, value, scope, 'text in quotes')] as const;
    }),
  );
}

/** The token itself, `username:password`, or an object with the members. jq sees placeholders of all. */
function secret(
  { reading, definitions }: Context,
  node: Located,
  name: string | undefined,
  scheme: 'basic' | 'bearer',
): Expression {
  if (name === undefined) return nothing;
  if (!definitions.secrets.includes(name))
    reading.problem(node, `${quote(name)} is not listed in use.secrets${suggestion(name, definitions.secrets)}`);
  const message = jqString(`the secret ${name} has no username:password`);
  const pair = `$secrets[${jqString(`${name}${pairSuffix}`)}] // error(${message})`;
  const read = scheme === 'basic' ? pair : '{token: .}';
  return { jq: inner({ jq: `$secrets[${jqString(name)}] | if type == "object" then . else ${read} end` }) };
}
