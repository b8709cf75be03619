import { defined } from '#base/text/defined.ts';
import { integerOf, membersOf, type ObjectMembers, readText } from '#yaml/document-members.ts';
import type { Located, LocatedMember } from '#yaml/located.ts';
import { didYouMean, joinWords, quote } from '#yaml/wording.ts';
import type { DataInput, DataOutput, Directive, Duration } from '../workflow.ts';
import { dataSchema } from './calls/endpoints.ts';
import { at, type Context, type Moment, type Scope } from './context.ts';
import { durationMembers, inputMembers, memberNames, outputMembers, timeoutMembers } from './member-table.ts';
import { condition, expressionOrObject, lineExpression } from './template.ts';

/** Where `then` may lead. */
interface Targets {
  /** In order; undefined for branches and bodies of functions, where no task is next. */
  readonly names?: readonly string[];
  /** Collects what `then` names. */
  readonly named?: Set<string>;
}

/** A task whose kind is known. */
export interface RecognizedTask {
  readonly context: Context;
  readonly members: ObjectMembers;
  /** Of the member that makes the kind. */
  readonly node: Located;
  readonly base: ReturnType<typeof taskBase>;
  readonly scope: Scope;
  readonly targets: Targets;
}

export function taskBase(
  { context, members, scope, targets }: Omit<RecognizedTask, 'base' | 'node'>,
  { name, value }: LocatedMember,
) {
  const input = at(scope, 'taskInput');
  return defined({
    name,
    reference: value.pointer,
    definition: value.json,
    if: members.read('if', (node) => condition(context, node, input)),
    input: dataInput(context, members.get('input'), input),
    output: dataOutput(context, members.get('output'), at(scope, 'task')),
    export: dataOutput(context, members.get('export'), at(scope, 'taskExport')),
    timeout: members.read('timeout', (node) => timeout(context, node, at(scope, 'task'))),
    taskData: members.taskData(),
    // oxlint-disable-next-line unicorn/no-thenable -- the directive of a task is no promise
    then: members.read('then', (node) => directive(context, node, targets)) ?? 'continue',
  });
}

export function dataInput(context: Context, node: Located | undefined, scope: Scope): DataInput {
  const { schema, value } = readData(context, node, scope, 'from');
  return defined({ schema, from: value });
}

export function dataOutput(context: Context, node: Located | undefined, scope: Scope): DataOutput {
  const { schema, value } = readData(context, node, scope, 'as');
  return defined({ schema, as: value });
}

function readData(context: Context, node: Located | undefined, scope: Scope, name: 'from' | 'as') {
  const form = {
    wanted: `an object with "schema" or "${name}"`,
    known: memberNames(name === 'from' ? inputMembers : outputMembers),
  };
  const members = node && membersOf(context.reading, node, form);
  return {
    schema: members?.read('schema', (schema) => dataSchema(context, schema, at(scope, schemaMoment(scope)))),
    value: members?.read(name, (value) => expressionOrObject(context, value, scope)),
  };
}

/** The address of a schema sees less than the values that it checks. */
function schemaMoment({ moment }: Scope): Moment {
  return moment === 'workflowInput' || moment === 'workflowOutput' ? 'workflowInput' : 'taskInput';
}

export const directives = ['continue', 'exit', 'end'] as const;

export function directive({ reading }: Context, node: Located, { names, named }: Targets): Directive {
  const text = readText(reading, node, `${joinWords(directives)}, or the name of a task`);
  if (text === undefined) return 'continue';
  named?.add(text);
  const known = directives.find((word) => word === text);
  if (known !== undefined) return known;
  const index = names?.indexOf(text) ?? -1;
  if (index >= 0) return { index };
  const candidates = [...(names ?? []), ...directives];
  const where =
    names === undefined ? 'here "then" leads to no other task' : 'names no task of this list, and "then" cannot leave it';
  const suggestion = didYouMean(text, candidates) || `; write one of ${joinWords(candidates.slice(-12))}`;
  reading.problem(node, `${quote(text)}: ${where}${suggestion}`);
  return 'continue';
}

const noTime: Duration = { iso: 'PT0S' };

const units = memberNames(durationMembers);

/** ISO 8601 without a sign. */
const iso =
  /^P(?!$)(\d+(?:\.\d+)?Y)?(\d+(?:\.\d+)?M)?(\d+(?:\.\d+)?W)?(\d+(?:\.\d+)?D)?(T(?=\d)(\d+(?:\.\d+)?H)?(\d+(?:\.\d+)?M)?(\d+(?:\.\d+)?S)?)?$/u;

const example = 'such as PT30S, { minutes: 5 }, or an expression in ${ }';

export function readDuration(context: Context, node: Located, scope: Scope): Duration {
  const { reading } = context;
  if (node.kind === 'object') return inline(context, node);
  const expression = lineExpression(context, node, scope);
  if (expression !== undefined) return { expression };
  if (node.kind !== 'string') {
    reading.wrongKind(node, `a duration, ${example}`);
    return noTime;
  }
  if (isDurationText(node.value)) return { iso: node.value };
  reading.problem(node, `${quote(node.value)} is no ISO 8601 duration; write one ${example}`);
  return noTime;
}

export function isDurationText(text: string): boolean {
  if (!iso.test(text)) return false;
  try {
    // Throws for a fraction before the last unit, and beyond the calendar.
    Temporal.Duration.from(text);
    return true;
  } catch {
    return false;
  }
}

function inline({ reading }: Context, node: Located): Duration {
  const members = membersOf(reading, node, { wanted: 'a duration', known: units });
  const [days, hours, minutes, seconds, milliseconds] = units.map((unit) => {
    const value = members.get(unit);
    return value === undefined ? 0 : (integerOf(reading, value, 0) ?? 0);
  }) as [number, number, number, number, number];
  if (units.every((unit) => members.get(unit) === undefined)) reading.problem(node, `is empty; write a duration, ${example}`);
  const rest = String(milliseconds % 1_000).padStart(3, '0');
  const text = `P${days}DT${hours}H${minutes}M${seconds + Math.floor(milliseconds / 1_000)}.${rest}S`;
  if (isDurationText(text)) return { iso: text };
  reading.problem(node, 'is longer than any calendar; write a shorter duration');
  return noTime;
}

export function timeout(context: Context, node: Located, scope: Scope): Duration {
  const { reading, definitions } = context;
  if (node.kind !== 'string') return timeoutDefinition(context, node, scope);
  const found = definitions.find(reading, 'timeouts', node.value, node);
  return found === undefined ? noTime : timeoutDefinition(context, found, scope);
}

export function timeoutDefinition(context: Context, node: Located, scope: Scope): Duration {
  const wanted = 'an object with "after", or the name of a timeout in use.timeouts';
  const after = membersOf(context.reading, node, { wanted, known: memberNames(timeoutMembers) }).get('after');
  if (after !== undefined) return readDuration(context, after, scope);
  if (node.kind === 'object') context.reading.problem(node, 'needs "after": the longest time, such as PT5M');
  return noTime;
}
