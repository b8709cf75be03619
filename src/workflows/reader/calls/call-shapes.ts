import { integerOf, listItems, membersOf, wordOf } from '#yaml/document-members.ts';
import type { Located } from '#yaml/located.ts';
import { didYouMean, quote } from '#yaml/wording.ts';
import type { FunctionName } from '../../workflow.ts';
import { type Context, suggestion } from '../context.ts';
import { expressionIn } from '../jq-source.ts';
import type { MemberTable } from '../member-table.ts';
import { isDurationText } from '../task-base.ts';

/** Checks a literal. Expressions are checked when the call is made. */
interface Shape {
  (context: Context, node: Located): void;
  /** Of an object. */
  readonly members?: MemberTable;
}

interface ShapeMember {
  readonly shape: Shape;
  /** Why the member is needed; absent: optional. */
  readonly required?: string;
}

const text: Shape = ({ reading }, node) => {
  if (node.kind !== 'string') reading.wrongKind(node, 'text in quotes');
};

const filledText: Shape = (context, node) => {
  if (node.kind === 'string' && node.value.trim() === '') context.reading.problem(node, 'is empty');
  else text(context, node);
};

const flag: Shape = ({ reading }, node) => {
  if (node.kind !== 'boolean') reading.wrongKind(node, 'true or false, without quotes');
};

const selfApproval: Shape = ({ reading }, node) => {
  if (node.kind !== 'boolean') wordOf(reading, node, ['authors']);
};

const anything: Shape = () => {};

const verbs = ['DELETE', 'GET', 'PATCH', 'PUT', 'POST'] as const;

const verb: Shape = ({ reading }, node) => void wordOf(reading, node, verbs);

const output: Shape = ({ reading }, node) => void wordOf(reading, node, ['content', 'response']);

const textMembers: Shape = (context, node) => {
  if (node.kind !== 'object') context.reading.wrongKind(node, 'an object of texts');
  else for (const { value } of node.members) literal(context, value, text);
};

const uri: Shape = ({ reading }, node) => {
  if (node.kind !== 'string') reading.wrongKind(node, 'an address in quotes');
  else if (!/^https?:\/\/[^/]/iu.test(node.value))
    reading.problem(node, `${quote(node.value)} is no address; write http:// or https:// and a host`);
};

const adapter: Shape = ({ reading, adapters }, node) => {
  if (node.kind !== 'string') reading.wrongKind(node, 'the name of an adapter instance');
  else if (adapters?.includes(node.value) === false)
    reading.warning(
      node,
      `${quote(node.value)} is no adapter instance of this gateway${suggestion(node.value, adapters)}; calls to it will fail`,
    );
};

const count: Shape = ({ reading }, node) => void integerOf(reading, node, 1);

const expiry: Shape = ({ reading }, node) => {
  if (node.kind !== 'string') reading.wrongKind(node, 'a duration, such as 4h or PT4H');
  else if (!/^\d{1,9}(?:ms|s|m|h|d)$/u.test(node.value) && !isDurationText(node.value))
    reading.problem(node, `${quote(node.value)} is no duration; write one such as 4h or PT4H`);
};

const texts: Shape = (context, node) => {
  for (const item of listItems(context.reading, node, 'a list of names')) literal(context, item, filledText);
};

function object(shapes: Readonly<Record<string, ShapeMember>>): Shape {
  const check: Shape = (context, node) => {
    const members = membersOf(context.reading, node, { wanted: 'an object', known: Object.keys(shapes) });
    if (node.kind !== 'object') return;
    for (const [name, { shape, required }] of Object.entries(shapes)) {
      const value = required === undefined ? members.get(name) : members.required(name, required);
      if (value !== undefined) literal(context, value, shape);
    }
  };
  const members = Object.entries(shapes).map(([name, { shape }]) => [name, shape.members ?? {}] as const);
  return Object.assign(check, { members: Object.fromEntries(members) });
}

function literal(context: Context, node: Located, shape: Shape): void {
  const isExpression = node.kind === 'string' && (typeof expressionIn(node.value) === 'object' || context.loose !== undefined);
  if (!isExpression) shape(context, node);
}

const path = { shape: filledText, required: 'the resource path, relative to the orchestrator' };
const accept = { shape: filledText, required: 'the media type of the reply, such as application/yang-data+json' };
const adapterMember = { shape: adapter, required: 'the name of the adapter instance' };
const common = { output: { shape: output } };

/** As the routes of docs/reference/http-api.md take them, with `output` and `repeatable`. */
const shapes: Readonly<Record<Exclude<FunctionName, 'http' | 'openapi'>, Shape>> = {
  restCall: object({
    uri: { shape: uri, required: 'the address to call' },
    verb: { shape: verb, required: 'the HTTP method' },
    user: { shape: text },
    password: { shape: text },
    headers: { shape: textMembers },
    body: { shape: anything },
    responseHeaders: { shape: flag },
    ...common,
  }),
  orchestratorAction: object({
    adapter: adapterMember,
    params: { shape: object({ path, accept, contentType: { shape: filledText } }), required: 'path and accept' },
    body: { shape: anything },
    repeatable: { shape: flag },
    ...common,
  }),
  orchestratorQuery: object({
    adapter: adapterMember,
    params: { shape: object({ path, accept }), required: 'path and accept' },
    ...common,
  }),
  orchestratorRequest: object({
    adapter: adapterMember,
    params: {
      shape: object({
        method: { shape: verb, required: 'the HTTP method' },
        path,
        accept,
        contentType: { shape: filledText },
      }),
      required: 'method, path and accept',
    },
    body: { shape: anything },
    ...common,
  }),
  approval: object({
    message: { shape: filledText, required: 'what the approvers are asked' },
    approvers: {
      shape: object({ roles: { shape: texts }, groups: { shape: texts } }),
      required: 'the roles and groups of the people who may approve',
    },
    count: { shape: count },
    selfApproval: { shape: selfApproval },
    expires: { shape: expiry },
  }),
};

type ShapedFunction = keyof typeof shapes;

export function isShaped(name: string): name is ShapedFunction {
  return Object.hasOwn(shapes, name);
}

export const shapedFunctions: readonly ShapedFunction[] = Object.keys(shapes) as ShapedFunction[];

export function checkArguments(context: Context, name: ShapedFunction, node: Located): void {
  shapes[name](context, node);
}

export function argumentMembers(name: ShapedFunction): MemberTable {
  return shapes[name].members ?? {};
}

export function checkMethod({ reading }: Context, node: Located): void {
  if (node.kind !== 'string') reading.wrongKind(node, 'an HTTP method');
  else if (typeof expressionIn(node.value) !== 'object' && !verbs.some((known) => known === node.value.toUpperCase()))
    reading.problem(
      node,
      `${quote(node.value)} is no method that the gateway sends; write one of ${verbs.join(', ')}${didYouMean(node.value, verbs)}`,
    );
}
