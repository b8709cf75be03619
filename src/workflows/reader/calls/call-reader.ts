import { defined } from '#base/text/defined.ts';
import { isSemanticVersion } from '#base/text/semantic-version.ts';
import { integerOf, membersOf, type ObjectMembers, readText, wordOf } from '#yaml/document-members.ts';
import type { Located } from '#yaml/located.ts';
import { didYouMean, joinWords, quote } from '#yaml/wording.ts';
import {
  type BatchTask,
  type CallLiterals,
  type CallTask,
  type Expression,
  type FunctionName,
  maxItems,
  type Task,
} from '../../workflow.ts';
import { at, type Context, type Scope } from '../context.ts';
import { readWorkflowName, workflowNaming } from '../flow-tasks.ts';
import { expressionIn } from '../jq-source.ts';
import { batchMembers, httpMembers, memberNames, openapiMembers, workflowNameMembers } from '../member-table.ts';
import type { RecognizedTask } from '../task-base.ts';
import { expression, nothing, template } from '../template.ts';
import { checkArguments, checkMethod, isShaped, shapedFunctions } from './call-shapes.ts';
import { authentication, endpoint, externalResource } from './endpoints.ts';

const refusedFunctions: Readonly<Record<string, string>> = {
  grpc: 'is not supported: the gateway speaks HTTP; call the service by its HTTP interface (call: http)',
  asyncapi: 'is not supported: the gateway speaks to no message broker; send events with POST /events, and use emit and listen',
  a2a: 'is not supported: the gateway calls no agents',
  mcp: 'is not supported: the gateway calls no tools of other servers; call the service by its HTTP interface (call: http)',
};

export function readCall(task: RecognizedTask): Task | undefined {
  const { node, context } = task;
  // A document of before may have a function with this name.
  const isBatch = node.kind === 'string' && node.value === 'batch' && !context.definitions.names('functions').includes('batch');
  return isBatch ? readBatchTask(task) : readFunctionCall(task);
}

function readFunctionCall({ context, members, node: call, base, scope }: RecognizedTask): Task | undefined {
  const { reading } = context;
  const name = readText(reading, call, 'the name of a function');
  if (name === undefined) return undefined;
  const given = members.get('with');
  const inside = at(scope, 'task');
  if (Object.hasOwn(refusedFunctions, name)) return reading.problem(call, `${name} ${refusedFunctions[name]}`);
  members.checkObject('with', 'an object with the arguments of the call');
  if (name === 'http' || name === 'openapi' || isShaped(name)) {
    if (given === undefined) reading.problem(call, 'needs "with" next to it: the arguments of the call');
    const read = readArguments(context, name, given, inside);
    return { ...base, kind: 'call', function: name, ...read, literals: literalsOf(context, given, inside) };
  }
  const body = readBody(context, call, name);
  return body && defined({ ...base, kind: 'function', with: given && template(context, given, inside), body });
}

function readArguments(
  context: Context,
  name: FunctionName,
  given: Located | undefined,
  scope: Scope,
): Pick<CallTask, 'with' | 'document'> {
  if (name === 'http') return { with: httpArguments(context, given, scope) };
  if (name === 'openapi') return openapiArguments(context, given, scope);
  if (given?.kind === 'object') checkArguments(context, name, given);
  return { with: given === undefined ? nothing : template(context, given, scope) };
}

/** Of a function of the document; undefined after a report. */
function readBody(context: Context, call: Located, name: string): Task | undefined {
  const { reading, definitions } = context;
  const names = definitions.names('functions');
  if (!names.includes(name))
    return reading.problem(call, unknownFunction(name, [...names, 'http', 'openapi', 'batch', ...shapedFunctions]));
  const node = definitions.find(reading, 'functions', name, call);
  const body = node && context.body(name, node);
  if (body !== 'recursive') return body;
  return reading.problem(call, `${quote(name)} calls itself, directly or through other functions, so that it would never end`);
}

function unknownFunction(name: string, known: readonly string[]): string {
  const foreign = /[@/]/u.test(name)
    ? '; functions of catalogs and addresses are not supported, so define it in use.functions'
    : '';
  return `${quote(name)} is no known function${foreign || didYouMean(name, known) || `; known are ${joinWords(known)}`}`;
}

function httpArguments(context: Context, node: Located | undefined, scope: Scope): Expression {
  if (node?.kind !== 'object') return nothing;
  const members = membersOf(context.reading, node, { wanted: 'an object', known: memberNames(httpMembers) });
  members.readRequired('method', 'the HTTP method', (method) => checkMethod(context, method));
  const target = members.required('endpoint', 'the address to call');
  for (const name of ['headers', 'query'] as const) checkTexts(context, members.get(name), name);
  checkReply(context, members);
  return template(context, node, scope, new Map(target === undefined ? [] : [[target, endpoint(context, target, scope)]]));
}

function openapiArguments(context: Context, node: Located | undefined, scope: Scope): Pick<CallTask, 'with' | 'document'> {
  const { reading } = context;
  if (node?.kind !== 'object') return { with: nothing };
  const members = membersOf(reading, node, { wanted: 'an object', known: memberNames(openapiMembers) });
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
  members.required('operationId', 'the operation of the document');
  members.text('operationId', 'the operationId of an operation');
  members.checkObject('parameters', 'an object of parameters');
  checkReply(context, members);
}

function checkReply({ reading }: Context, members: ObjectMembers): void {
  members.read('output', (output) => wordOf(reading, output, ['raw', 'content', 'response']));
  members.flag('redirect');
}

/** Texts by name, or one expression for all. */
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

/** What rights to a call are judged by. Leaves out expressions: only a run knows their value. */
function literalsOf(context: Context, given: Located | undefined, scope: Scope): CallLiterals {
  const params = memberOf(given, 'params');
  const literal = (node: Located | undefined): string | undefined => literalText(context, node, scope);
  const adapter = literal(memberOf(given, 'adapter'));
  const method = literal(memberOf(given, 'verb') ?? memberOf(given, 'method') ?? memberOf(params, 'method'));
  const path = literal(memberOf(given, 'uri') ?? memberOf(params, 'path')) ?? literalAddress(memberOf(given, 'endpoint'));
  const repeatable = memberOf(given, 'repeatable');
  const isRepeatable = repeatable?.kind === 'boolean' && repeatable.value;
  return defined({ adapter, method: method?.toUpperCase(), path, repeatable: isRepeatable ? true : undefined });
}

function memberOf(node: Located | undefined, name: string): Located | undefined {
  return node?.kind === 'object' ? node.members.find((member) => member.name === name)?.value : undefined;
}

function literalText(context: Context, node: Located | undefined, scope: Scope): string | undefined {
  if (node?.kind !== 'string' || typeof expressionIn(node.value) === 'object') return undefined;
  return context.loose?.(node.value, scope) === true ? undefined : node.value;
}

function literalAddress(node: Located | undefined): string | undefined {
  const address = node?.kind === 'object' ? memberOf(node, 'uri') : node;
  return address?.kind === 'string' && !/[{}]/u.test(address.value) ? address.value : undefined;
}

const maxParallel = 100;

/** Undefined after a report. */
function readBatchTask({ context, members, node: call, base, scope }: RecognizedTask): BatchTask | undefined {
  const { reading } = context;
  const given = members.get('with');
  if (given === undefined)
    return reading.problem(call, 'needs "with" next to it: items, and the workflow that runs for each of them');
  const inside = membersOf(reading, given, { wanted: 'an object with "items" and "workflow"', known: memberNames(batchMembers) });
  const items = inside.required('items', 'an expression that gives the list of items');
  const target = inside.required('workflow', 'namespace, name and version of the workflow that runs for each item');
  const count = (name: string, least: number): number | undefined =>
    inside.read(name, (value) => integerOf(reading, value, least));
  const parallel = inside.read('parallel', (value) => readParallel(context, value));
  const canary = count('canary', 0);
  const stopAfter = count('stopAfter', 1);
  const failures = inside.read('failures', (value) => wordOf(reading, value, ['fault', 'count']));
  if (items === undefined || target === undefined) return undefined;
  const read = { items: readItems(context, items, at(scope, 'task')), ...readTarget(context, target) };
  const rules = { parallel: parallel ?? 10, canary: canary ?? 0, stopAfter, failures: failures ?? 'fault' };
  return defined({ ...base, kind: 'batch', ...read, ...rules });
}

/** An expression, or a list in which texts may be expressions. */
function readItems(context: Context, node: Located, scope: Scope): Expression {
  if (node.kind === 'array') {
    if (node.items.length <= maxItems) return template(context, node, scope);
    context.reading.problem(node, `has ${node.items.length} items; a batch has at most ${maxItems.toLocaleString('en')}`);
  } else if (node.kind === 'string') return expression(context, node, scope);
  else context.reading.wrongKind(node, 'an expression in quotes that gives a list, such as ".devices"');
  return nothing;
}

function readParallel({ reading }: Context, node: Located): number | undefined {
  const value = integerOf(reading, node, 1);
  if (value !== undefined && value > maxParallel)
    reading.problem(node, `${value} is out of range; write a whole number from 1 to ${maxParallel}`);
  return value;
}

/** Literal and exact: what runs is known when the document is stored. */
function readTarget({ reading }: Context, node: Located): Pick<BatchTask, 'workflow' | 'version'> {
  const members = membersOf(reading, node, { wanted: workflowNaming, known: memberNames(workflowNameMembers) });
  return readWorkflowName(members, { isVersion: isSemanticVersion, form: 'an exact version such as 1.0.0' });
}
