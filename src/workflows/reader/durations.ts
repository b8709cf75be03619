import { integerOf, membersOf } from '#yaml/document-members.ts';
import type { Located } from '#yaml/located.ts';
import { quote } from '#yaml/wording.ts';
import type { Duration } from '../workflow.ts';
import type { Context, Scope } from './context.ts';
import { durationMembers, memberNames, timeoutMembers } from './member-table.ts';
import { lineExpression } from './template.ts';

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
