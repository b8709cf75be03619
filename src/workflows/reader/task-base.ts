import type { Located, LocatedMember } from '#yaml/located.ts';
import { didYouMean } from '#yaml/nearest.ts';
import { listed, shown } from '#yaml/wording.ts';
import type { DataInput, DataOutput, Directive } from '../workflow.ts';
import type { Context } from './context.ts';
import { timeout } from './durations.ts';
import { dataSchema } from './endpoints.ts';
import { membersOf, type ObjectMembers, readText } from './members.ts';
import { at, type Moment, type Scope } from './scope.ts';
import { condition, expressionOrObject } from './template.ts';

export const baseMembers = ['if', 'input', 'output', 'export', 'timeout', 'then', 'metadata'] as const;

/** Where `then` may lead. */
export interface Targets {
  /** The names of the list, in order; undefined for branches and bodies of functions, which have no next task. */
  readonly names?: readonly string[];
  /** Collects what each `then` of the list names. */
  readonly named?: Set<string>;
}

export interface TaskPlace {
  readonly targets: Targets;
  readonly scope: Scope;
}

export type BaseOf = ReturnType<typeof taskBase>;

/** What tasks of all kinds have in common. */
export function taskBase(
  context: Context,
  { name, value }: LocatedMember,
  members: ObjectMembers,
  { targets, scope }: TaskPlace,
) {
  const given = members.get('if');
  const limit = members.get('timeout');
  const next = members.get('then');
  const metadata = members.get('metadata');
  if (metadata !== undefined && metadata.kind !== 'object') context.reading.wrongKind(metadata, 'an object');
  return {
    name,
    reference: value.pointer,
    definition: value.json,
    ...(given === undefined ? {} : { if: condition(context, given, at(scope, 'taskInput')) }),
    input: dataInput(context, members.get('input'), at(scope, 'taskInput')),
    output: dataOutput(context, members.get('output'), at(scope, 'task')),
    export: dataOutput(context, members.get('export'), at(scope, 'taskExport')),
    ...(limit === undefined ? {} : { timeout: timeout(context, limit, at(scope, 'task')) }),
    // oxlint-disable-next-line unicorn/no-thenable -- the directive of a task is no promise
    then: next === undefined ? ('continue' as const) : directive(context, next, targets),
  };
}

/** Addresses of schemas see less than the values that they check. */
function schemaMoment({ moment }: Scope): Moment {
  return moment === 'workflowInput' || moment === 'workflowOutput' ? 'workflowInput' : 'taskInput';
}

export function dataInput(context: Context, node: Located | undefined, scope: Scope): DataInput {
  if (node === undefined) return {};
  const members = membersOf(context.reading, node, { wanted: 'an object with "schema" or "from"', known: ['schema', 'from'] });
  const [schema, from] = [members.get('schema'), members.get('from')];
  return {
    ...(schema === undefined ? {} : { schema: dataSchema(context, schema, at(scope, schemaMoment(scope))) }),
    ...(from === undefined ? {} : { from: expressionOrObject(context, from, scope) }),
  };
}

/** `output` or `export`. */
export function dataOutput(context: Context, node: Located | undefined, scope: Scope): DataOutput {
  if (node === undefined) return {};
  const members = membersOf(context.reading, node, { wanted: 'an object with "schema" or "as"', known: ['schema', 'as'] });
  const [schema, as] = [members.get('schema'), members.get('as')];
  return {
    ...(schema === undefined ? {} : { schema: dataSchema(context, schema, at(scope, schemaMoment(scope))) }),
    ...(as === undefined ? {} : { as: expressionOrObject(context, as, scope) }),
  };
}

export const directives = ['continue', 'exit', 'end'] as const;

export function directive({ reading }: Context, node: Located, { names, named }: Targets): Directive {
  const text = readText(reading, node, `${listed(directives)}, or the name of a task`);
  if (text === undefined) return 'continue';
  named?.add(text);
  const known = directives.find((word) => word === text);
  if (known !== undefined) return known;
  const index = names?.indexOf(text) ?? -1;
  if (index >= 0) return { index };
  const candidates = [...(names ?? []), ...directives];
  const where =
    names === undefined ? 'here "then" leads to no other task' : 'names no task of this list, and "then" cannot leave it';
  reading.problem(
    node,
    `${shown(text)}: ${where}${didYouMean(text, candidates) || `; write one of ${listed(candidates.slice(-12))}`}`,
  );
  return 'continue';
}
