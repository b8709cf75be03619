import type { Located } from '#yaml/located.ts';
import { shown } from '#yaml/wording.ts';
import { whyOwn } from '../own-events.ts';
import type { Consumption, EventFilter, Expression, Task } from '../workflow.ts';
import type { Context } from './context.ts';
import { checkUri } from './endpoints.ts';
import { expressionIn, quoted } from './jq-source.ts';
import { listItems, membersOf, namedEntries, type ObjectMembers, wordOf } from './members.ts';
import { at, type Scope, within } from './scope.ts';
import { type BaseOf, dataOutput } from './task-base.ts';
import { condition, expression, inner, lineExpression, nothing, template, textOrExpression } from './template.ts';
import { variablePair } from './variable-names.ts';

const texts = ['id', 'type', 'subject', 'datacontenttype'];
const addresses = ['source', 'dataschema'];

/** Reports attributes that CloudEvents does not allow. */
function checkAttributes(context: Context, node: Located, scope: Scope): void {
  const { reading } = context;
  for (const { name, place, value } of namedEntries(reading, node, 'an object with the attributes of an event')) {
    if (!/^[a-z0-9]{1,64}$/u.test(name))
      reading.problem(place, 'is no name of an attribute (CloudEvents 1.0): small letters and digits only');
    else if (texts.includes(name)) textOrExpression(context, value, scope, 'text in quotes');
    else if (addresses.includes(name)) checkUri(context, value, scope, 'https://example.net/source');
    else if (name === 'time') checkTime(context, value, scope);
    else if (name !== 'data' && (value.kind === 'object' || value.kind === 'array'))
      reading.wrongKind(value, 'text, a number, true or false');
  }
}

function checkTime(context: Context, node: Located, scope: Scope): void {
  if (lineExpression(context, node, scope) !== undefined) return;
  if (node.kind !== 'string') context.reading.wrongKind(node, 'a time in quotes');
  else if (!isTime(node.value))
    context.reading.problem(node, `${shown(node.value)} is no time; write one such as 2026-11-21T08:00:00Z`);
}

function isTime(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[-+]\d\d:\d\d)$/u.test(text)) return false;
  try {
    Temporal.Instant.from(text);
    return true;
  } catch {
    return false;
  }
}

/** `emit`. */
export function emitTask(context: Context, node: Located, base: BaseOf, scope: Scope): Task {
  const { reading } = context;
  const inside = at(scope, 'task');
  const event = membersOf(reading, node, { wanted: 'an object with "event"', known: ['event'] }).required('event', '{ with }');
  const attributes =
    event === undefined
      ? undefined
      : membersOf(reading, event, { wanted: 'an object with "with"', known: ['with'] }).required(
          'with',
          'the attributes of the event',
        );
  if (attributes === undefined) return { ...base, kind: 'emit', event: nothing };
  checkAttributes(context, attributes, inside);
  checkOwn(context, attributes);
  for (const name of ['source', 'type'] as const)
    if (attributes.kind === 'object' && !attributes.members.some((member) => member.name === name))
      reading.problem(attributes, `needs "${name}": every event has one (CloudEvents 1.0)`);
  return { ...base, kind: 'emit', event: template(context, attributes, inside) };
}

/** What only the gateway's own events have. Their sources are no addresses, which `checkAttributes` refuses. */
function checkOwn({ reading }: Context, node: Located): void {
  if (node.kind !== 'object') return;
  for (const { name, value } of node.members) {
    const problem = name === 'source' ? undefined : whyOwn(name, value.kind === 'string' ? value.value : undefined);
    if (problem !== undefined) reading.problem(value, `"${name}" ${problem}`);
  }
}

/** `listen`, with its `foreach`. */
export function listenTask(context: Context, members: ObjectMembers, node: Located, base: BaseOf, scope: Scope): Task {
  const { reading } = context;
  const inside = at(scope, 'task');
  const listen = membersOf(reading, node, { wanted: 'an object with "to"', known: ['to', 'read'] });
  const to = listen.required('to', 'one, all or any of some events');
  const read = listen.get('read');
  const iterator = members.get('foreach');
  return {
    ...base,
    kind: 'listen',
    to: to === undefined ? { kind: 'any', filters: [] } : consumption(context, to, inside),
    read: (read === undefined ? undefined : wordOf(reading, read, ['data', 'envelope', 'raw'])) ?? 'data',
    ...(iterator === undefined ? {} : { foreach: foreach(context, iterator, scope) }),
  };
}

function foreach(context: Context, node: Located, scope: Scope) {
  const { reading } = context;
  const members = membersOf(reading, node, { wanted: 'an object', known: ['item', 'at', 'do', 'output', 'export'] });
  const [item, index] = variablePair(reading, members, ['item', 'at']);
  const inside = within(scope, [item, index]);
  const tasks = members.get('do');
  return {
    item,
    at: index,
    tasks: tasks === undefined ? [] : context.tasks(tasks, inside),
    output: dataOutput(context, members.get('output'), at(inside, 'task')),
    export: dataOutput(context, members.get('export'), at(inside, 'taskExport')),
  };
}

const kinds = ['one', 'all', 'any'] as const;

function consumption(context: Context, node: Located, scope: Scope, isUntil = false): Consumption {
  const { reading } = context;
  const known = isUntil ? kinds : [...kinds, 'until'];
  const refused = isUntil ? { until: 'cannot be part of another "until"' } : {};
  const members = membersOf(reading, node, { wanted: 'an object with "one", "all" or "any"', known, refused });
  const given = kinds.filter((kind) => members.get(kind) !== undefined);
  const [kind = 'any'] = given;
  if (node.kind === 'object' && given.length !== 1) reading.problem(node, 'needs exactly one of "one", "all" and "any"');
  const until = isUntil ? undefined : members.get('until');
  if (until !== undefined && kind !== 'any') reading.problem(until, '"until" belongs to "any"; remove it');
  return consumptionOf(context, { kind, written: members.get(kind), until }, scope);
}

interface WrittenConsumption {
  readonly kind: Consumption['kind'];
  readonly written: Located | undefined;
  readonly until: Located | undefined;
}

function consumptionOf(context: Context, { kind, written, until }: WrittenConsumption, scope: Scope): Consumption {
  const { reading } = context;
  if (kind === 'one' && written !== undefined) return { kind, filter: eventFilter(context, written, scope) };
  const filters = listItems(reading, written, 'a list of event filters').map((item) => eventFilter(context, item, scope));
  if (kind === 'all') {
    if (written?.kind === 'array' && filters.length === 0) reading.problem(written, 'needs at least one event filter');
    return { kind, filters };
  }
  return { kind: 'any', filters, ...(until === undefined ? {} : { until: untilOf(context, until, scope) }) };
}

function untilOf(context: Context, node: Located, scope: Scope): Expression | Consumption {
  return node.kind === 'object' ? consumption(context, node, scope, true) : condition(context, node, scope);
}

function eventFilter(context: Context, node: Located, scope: Scope): EventFilter {
  const { reading } = context;
  const members = membersOf(reading, node, { wanted: 'an object with "with"', known: ['with', 'correlate'] });
  const attributes = members.required('with', 'the attributes that an event must have');
  const correlate = namedEntries(reading, members.get('correlate'), 'an object of correlations').map(({ name, value }) => {
    const correlation = membersOf(reading, value, { wanted: 'an object with "from"', known: ['from', 'expect'] });
    const from = correlation.required('from', 'an expression on the event');
    const expect = correlation.get('expect');
    return {
      name,
      from: from === undefined ? nothing : expression(context, from, scope),
      ...(expect === undefined ? {} : { expect: textOrExpression(context, expect, scope, 'text, or an expression in ${ }') }),
    };
  });
  return { matches: attributes === undefined ? nothing : matches(context, attributes, scope), correlate };
}

function matches(context: Context, node: Located, scope: Scope): Expression {
  checkAttributes(context, node, scope);
  if (node.kind !== 'object') return nothing;
  if (node.members.length === 0) context.reading.problem(node, 'needs at least one attribute');
  const parts = node.members.map(({ name, value }) => `(.[${quoted(name)}] | ${attributeMatches(context, value, scope)})`);
  return { jq: parts.join(' and ') };
}

/**
 * An expression is evaluated with the attribute as `.`: true and false decide, any other result has to be equal. A text is equal, or a regular
 * expression for the whole attribute.
 */
function attributeMatches(context: Context, node: Located, scope: Scope): string {
  const value = template(context, node, scope);
  if (value.constant === undefined) {
    const isCondition = node.kind === 'string' && expressionIn(node.value) !== undefined;
    const equal = `. as $__attribute | ${inner(value)} | `;
    return isCondition ? `(${equal}if type == "boolean" then . else . == $__attribute end)` : `(${equal}. == $__attribute)`;
  }
  if (node.kind !== 'string' || !/[\\^$*+?()[\]{}|]/u.test(node.value)) return `(. == ${value.jq})`;
  return `(. == ${value.jq} or (type == "string" and (try test(${quoted(`^(?:${node.value})$`)}) catch false)))`;
}
