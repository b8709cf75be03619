import { defined } from '#base/text/defined.ts';
import { isSemanticVersion } from '#base/text/semantic-version.ts';
import { integerOf, membersOf, wordOf } from '#yaml/document-members.ts';
import type { Located } from '#yaml/located.ts';
import { type BatchTask, type Expression, maxItems } from '../../workflow.ts';
import { at, type Context, type Scope } from '../context.ts';
import { readWorkflowName, workflowNaming } from '../flow-tasks.ts';
import { batchMembers, memberNames, workflowNameMembers } from '../member-table.ts';
import type { RecognizedTask } from '../task-base.ts';
import { expression, nothing, template } from '../template.ts';

const maxParallel = 100;

/** Undefined after a report. */
export function readBatchTask({ context, members, node: call, base, scope }: RecognizedTask): BatchTask | undefined {
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
