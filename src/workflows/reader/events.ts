import { defined } from '#base/text/defined.ts';
import { listItems, membersOf, namedEntries, type ObjectMembers, wordOf } from '#yaml/document-members.ts';
import type { Located } from '#yaml/located.ts';
import { quote } from '#yaml/wording.ts';
import { whyOwn } from '../own-events.ts';
import type { Consumption, EventFilter, Expression, Task } from '../workflow.ts';
import { checkUri } from './calls/endpoints.ts';
import { at, type Context, type Scope, variablePair, within } from './context.ts';
import { expressionIn, jqString } from './jq-source.ts';
import { consumptionMembers, correlationMembers, eventFilterMembers, memberNames, taskKindMembers } from './member-table.ts';
import { dataOutput, type RecognizedTask } from './task-base.ts';
import { condition, expression, inner, lineExpression, nothing, template, textOrExpression } from './template.ts';

const texts = ['id', 'type', 'subject', 'datacontenttype'];
const addresses = ['source', 'dataschema'];

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
    context.reading.problem(node, `${quote(node.value)} is no time; write one such as 2026-11-21T08:00:00Z`);
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

export function readEmit({ context, node, base, scope }: RecognizedTask): Task {
  const { reading } = context;
  const event = membersOf(reading, node, {
    wanted: 'an object with "event"',
    known: memberNames(taskKindMembers.emit.emit),
  }).required('event', '{ with }');
  const members =
    event && membersOf(reading, event, { wanted: 'an object with "with"', known: memberNames(taskKindMembers.emit.emit.event) });
  const attributes = members?.required('with', 'the attributes of the event');
  if (attributes === undefined) return { ...base, kind: 'emit', event: nothing };
  const inside = at(scope, 'task');
  checkAttributes(context, attributes, inside);
  checkOwn(context, attributes);
  for (const name of ['source', 'type'] as const)
    if (attributes.kind === 'object' && !attributes.members.some((member) => member.name === name))
      reading.problem(attributes, `needs "${name}": every event has one (CloudEvents 1.0)`);
  return { ...base, kind: 'emit', event: template(context, attributes, inside) };
}

/** What only events of the gateway have. `checkAttributes` refuses sources that are no addresses. */
function checkOwn({ reading }: Context, node: Located): void {
  if (node.kind !== 'object') return;
  for (const { name, value } of node.members) {
    const problem = name === 'source' ? undefined : whyOwn(name, value.kind === 'string' ? value.value : undefined);
    if (problem !== undefined) reading.problem(value, `"${name}" ${problem}`);
  }
}

export function readListen({ context, members, node, base, scope }: RecognizedTask): Task {
  const { reading } = context;
  const inside = at(scope, 'task');
  const listen = membersOf(reading, node, { wanted: 'an object with "to"', known: memberNames(taskKindMembers.listen.listen) });
  const to = listen.readRequired('to', 'one, all or any of some events', (given) => readConsumption(context, given, inside));
  return defined({
    ...base,
    kind: 'listen',
    to: to ?? { kind: 'any', filters: [] },
    read: listen.read('read', (read) => wordOf(reading, read, ['data', 'envelope', 'raw'])) ?? 'data',
    foreach: members.read('foreach', (iterator) => readForeach(context, iterator, scope)),
  });
}

function readForeach(context: Context, node: Located, scope: Scope) {
  const { reading } = context;
  const members = membersOf(reading, node, { wanted: 'an object', known: memberNames(taskKindMembers.listen.foreach) });
  const [item, index] = variablePair(reading, members, ['item', 'at']);
  const inside = within(scope, [item, index]);
  return {
    item,
    at: index,
    tasks: members.read('do', (tasks) => context.tasks(tasks, inside)) ?? [],
    output: dataOutput(context, members.get('output'), at(inside, 'task')),
    export: dataOutput(context, members.get('export'), at(inside, 'taskExport')),
  };
}

const kinds = memberNames(consumptionMembers);

function readConsumption(context: Context, node: Located, scope: Scope): Consumption {
  const members = consumptionOf(context, node, memberNames(taskKindMembers.listen.listen.to));
  const consumption = readKind(context, members, scope);
  const until = members.get('until');
  if (until === undefined) return consumption;
  if (consumption.kind === 'any') return { ...consumption, until: readUntil(context, until, scope) };
  context.reading.problem(until, '"until" belongs to "any"; remove it');
  return consumption;
}

function readUntil(context: Context, node: Located, scope: Scope): Expression | Consumption {
  if (node.kind !== 'object') return condition(context, node, scope);
  return readKind(context, consumptionOf(context, node, kinds), scope);
}

function consumptionOf({ reading }: Context, node: Located, known: readonly string[]): ObjectMembers {
  const refused = known.includes('until') ? {} : { until: 'cannot be part of another "until"' };
  return membersOf(reading, node, { wanted: 'an object with "one", "all" or "any"', known, refused });
}

function readKind(context: Context, members: ObjectMembers, scope: Scope): Consumption {
  const kind = members.oneOf(kinds, 'needs exactly one of "one", "all" and "any"') ?? 'any';
  const written = members.get(kind);
  if (kind === 'one' && written !== undefined) return { kind, filter: eventFilter(context, written, scope) };
  const filters = listItems(context.reading, written, 'a list of event filters').map((item) => eventFilter(context, item, scope));
  if (kind !== 'all') return { kind: 'any', filters };
  if (written?.kind === 'array' && filters.length === 0) context.reading.problem(written, 'needs at least one event filter');
  return { kind, filters };
}

function eventFilter(context: Context, node: Located, scope: Scope): EventFilter {
  const { reading } = context;
  const members = membersOf(reading, node, { wanted: 'an object with "with"', known: memberNames(eventFilterMembers) });
  const attributes = members.required('with', 'the attributes that an event must have');
  const correlate = namedEntries(reading, members.get('correlate'), 'an object of correlations').map(({ name, value }) => {
    const correlation = membersOf(reading, value, { wanted: 'an object with "from"', known: memberNames(correlationMembers) });
    const wanted = 'text, or an expression in ${ }';
    return defined({
      name,
      from: correlation.readRequired('from', 'an expression on the event', (from) => expression(context, from, scope)) ?? nothing,
      expect: correlation.read('expect', (expect) => textOrExpression(context, expect, scope, wanted)),
    });
  });
  return { matches: attributes === undefined ? nothing : matches(context, attributes, scope), correlate };
}

function matches(context: Context, node: Located, scope: Scope): Expression {
  checkAttributes(context, node, scope);
  if (node.kind !== 'object') return nothing;
  if (node.members.length === 0) context.reading.problem(node, 'needs at least one attribute');
  const parts = node.members.map(({ name, value }) => `(.[${jqString(name)}] | ${attributeMatches(context, value, scope)})`);
  return { jq: parts.join(' and ') };
}

/** The result true or false of an expression on the attribute decides; any other must be equal. A text may be a regular expression. */
function attributeMatches(context: Context, node: Located, scope: Scope): string {
  const value = template(context, node, scope);
  if (value.constant === undefined) {
    const isCondition = node.kind === 'string' && expressionIn(node.value) !== undefined;
    const equal = `. as $__attribute | ${inner(value)} | `;
    return isCondition ? `(${equal}if type == "boolean" then . else . == $__attribute end)` : `(${equal}. == $__attribute)`;
  }
  if (node.kind !== 'string' || !/[\\^$*+?()[\]{}|]/u.test(node.value)) return `(. == ${value.jq})`;
  return `(. == ${value.jq} or (type == "string" and (try test(${jqString(`^(?:${node.value})$`)}) catch false)))`;
}
