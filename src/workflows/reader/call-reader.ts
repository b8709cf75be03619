import type { Located } from '#yaml/located.ts';
import { didYouMean } from '#yaml/nearest.ts';
import { listed, shown } from '#yaml/wording.ts';
import type { CallTask, Expression, FunctionName, Task } from '../workflow.ts';
import { authentication } from './authentication.ts';
import { literalsOf } from './call-literals.ts';
import { checkArguments, checkMethod, isShaped, shapedFunctions } from './call-shapes.ts';
import type { Context } from './context.ts';
import { endpoint, externalResource } from './endpoints.ts';
import { expressionIn } from './jq-source.ts';
import { membersOf, type ObjectMembers, readText, wordOf } from './members.ts';
import { at, type Scope } from './scope.ts';
import type { BaseOf } from './task-base.ts';
import { nothing, template } from './template.ts';

const refusedFunctions: Readonly<Record<string, string>> = {
  grpc: 'is not supported: the gateway speaks HTTP; call the service by its HTTP interface (call: http)',
  asyncapi: 'is not supported: the gateway speaks to no message broker; send events with POST /events, and use emit and listen',
  a2a: 'is not supported: the gateway calls no agents',
  mcp: 'is not supported: the gateway calls no tools of other servers; call the service by its HTTP interface (call: http)',
};

export function callTask(context: Context, members: ObjectMembers, base: BaseOf, scope: Scope): Task | undefined {
  const { reading } = context;
  const call = members.get('call');
  const name = call === undefined ? undefined : readText(reading, call, 'the name of a function');
  if (call === undefined || name === undefined) return undefined;
  const given = members.get('with');
  const inside = at(scope, 'task');
  if (name === 'http' || name === 'openapi' || isShaped(name))
    return {
      ...base,
      kind: 'call',
      function: name,
      ...argumentsOf(context, { call, name, given }, inside),
      literals: literalsOf(context, given, inside),
    };
  const refusal = Object.hasOwn(refusedFunctions, name) ? refusedFunctions[name] : undefined;
  if (refusal === undefined) return functionTask(context, { call, name, given }, base, inside);
  reading.problem(call, `${name} ${refusal}`);
  return undefined;
}

function argumentsOf(
  context: Context,
  { call, name, given }: FunctionCall & { readonly name: FunctionName },
  scope: Scope,
): Pick<CallTask, 'with' | 'document'> {
  const found = argumentsIn(context, call, given);
  if (name === 'http') return { with: httpArguments(context, found, scope) };
  if (name === 'openapi') return openapiArguments(context, found, scope);
  if (found?.kind === 'object') checkArguments(context, name, found);
  return { with: found === undefined ? nothing : template(context, found, scope) };
}

/** `with`, which has to be there and an object. */
function argumentsIn({ reading }: Context, call: Located, given: Located | undefined): Located | undefined {
  if (given === undefined) reading.problem(call, 'needs "with" next to it: the arguments of the call');
  else if (given.kind !== 'object') reading.wrongKind(given, 'an object with the arguments of the call');
  return given;
}

interface FunctionCall {
  readonly call: Located;
  readonly name: string;
  readonly given: Located | undefined;
}

function functionTask(context: Context, { call, name, given }: FunctionCall, base: BaseOf, scope: Scope): Task | undefined {
  const { reading, definitions } = context;
  const names = definitions.names('functions');
  if (given !== undefined && given.kind !== 'object') reading.wrongKind(given, 'an object with the arguments of the call');
  if (!names.includes(name)) {
    reading.problem(call, unknownFunction(name, [...names, 'http', 'openapi', ...shapedFunctions]));
    return undefined;
  }
  const node = definitions.find(reading, 'functions', name, call);
  const body = node === undefined ? undefined : context.body(name, node);
  if (body === 'recursive')
    reading.problem(call, `${shown(name)} calls itself, directly or through other functions, so that it would never end`);
  if (body === undefined || body === 'recursive') return undefined;
  return { ...base, kind: 'function', ...(given === undefined ? {} : { with: template(context, given, scope) }), body };
}

function unknownFunction(name: string, known: readonly string[]): string {
  const foreign = /[@/]/u.test(name)
    ? '; functions of catalogs and addresses are not supported, so define it in use.functions'
    : '';
  return `${shown(name)} is no known function${foreign || didYouMean(name, known) || `; known are ${listed(known)}`}`;
}

const httpMembers = ['method', 'endpoint', 'headers', 'body', 'query', 'output', 'redirect'] as const;

function httpArguments(context: Context, node: Located | undefined, scope: Scope): Expression {
  if (node?.kind !== 'object') return nothing;
  const members = membersOf(context.reading, node, { wanted: 'an object', known: httpMembers });
  const method = members.required('method', 'the HTTP method');
  if (method !== undefined) checkMethod(context, method);
  const target = members.required('endpoint', 'the address to call');
  for (const name of ['headers', 'query'] as const) checkTexts(context, members.get(name), name);
  checkReply(context, members);
  return template(context, node, scope, new Map(target === undefined ? [] : [[target, endpoint(context, target, scope)]]));
}

const openapiMembers = ['document', 'operationId', 'parameters', 'authentication', 'output', 'redirect'] as const;

function openapiArguments(context: Context, node: Located | undefined, scope: Scope): Pick<CallTask, 'with' | 'document'> {
  const { reading } = context;
  if (node?.kind !== 'object') return { with: nothing };
  const members = membersOf(reading, node, { wanted: 'an object', known: openapiMembers });
  const document = members.required('document', 'where the OpenAPI document is: { endpoint }');
  checkOperation(context, members);
  const replaced = new Map<Located, Expression>();
  const fetched = document && externalResource(context, document, scope);
  if (document !== undefined && fetched !== undefined) replaced.set(document, fetched.written);
  const credentials = members.get('authentication');
  if (credentials !== undefined) replaced.set(credentials, authentication(context, credentials, scope));
  return { with: template(context, node, scope, replaced), ...(fetched && { document: fetched.resource }) };
}

function checkOperation(context: Context, members: ObjectMembers): void {
  const { reading } = context;
  const operation = members.required('operationId', 'the operation of the document');
  if (operation !== undefined) readText(reading, operation, 'the operationId of an operation');
  const parameters = members.get('parameters');
  if (parameters !== undefined && parameters.kind !== 'object') reading.wrongKind(parameters, 'an object of parameters');
  checkReply(context, members);
}

function checkReply({ reading }: Context, members: ObjectMembers): void {
  const output = members.get('output');
  if (output !== undefined) wordOf(reading, output, ['raw', 'content', 'response']);
  members.flag('redirect');
}

/** Headers or query parameters: texts by name, or one expression for all of them. */
function checkTexts({ reading }: Context, node: Located | undefined, name: 'headers' | 'query'): void {
  if (node === undefined) return;
  if (node.kind === 'object') {
    for (const { value } of node.members) if (value.kind !== 'string') reading.wrongKind(value, 'text in quotes');
  } else if (node.kind !== 'string' || typeof expressionIn(node.value) !== 'object') {
    reading.wrongKind(node, `an object of ${name}, or an expression in \${ }`);
  } else if (/[\n\r\u2028\u2029]/u.test(node.value.trim())) {
    reading.problem(node, 'has several lines, which the DSL does not allow here; write the expression on one line');
  }
}
