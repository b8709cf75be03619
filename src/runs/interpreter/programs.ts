import type { Duration, Expression, Task } from '#workflows/workflow.ts';
import { JsonValue } from './state/json-value.ts';

export interface Program {
  readonly expressions: readonly string[];
  /** What each expression is, for errors. */
  readonly labels: readonly string[];
  /** Variables that an expression mentions, without `$`. */
  readonly names: ReadonlySet<string>;
}

/** Where the value of an expression comes from. */
export type Slot = { readonly constant: JsonValue } | { readonly same: true } | { readonly result: number };

/** The expression, fit to be part of another one. A comment at its end ends with its line. */
export function enclose(jq: string): string {
  return `(${jq}\n)`;
}

/** Names after `$`. One in a string counts too, and only costs the value of a variable. */
export function mentions(jq: string): readonly string[] {
  return Array.from(jq.matchAll(/\$([A-Za-z_]\w*)/gu), ([, name = '']) => name);
}

export function isIdentity(expression: Expression): boolean {
  return expression.jq.trim() === '.';
}

export function oncePer<Key extends object, Made>(make: (key: Key) => Made): (key: Key) => Made {
  const made = new WeakMap<Key, Made>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known;
    const value = make(key);
    made.set(key, value);
    return value;
  };
}

export const constantOf = oncePer(({ constant }: Expression) => (constant === undefined ? undefined : new JsonValue(constant)));

export function programOf(label: string, jq: string): Program {
  return { expressions: [jq], labels: [label], names: new Set(mentions(jq)) };
}

/** Collects the expressions of a program. What is constant or the identity needs none. */
export class ProgramBuilder {
  readonly #expressions: string[] = [];
  readonly #labels: string[] = [];
  readonly #names = new Set<string>();

  /** `wrap` makes the jq that is evaluated from the expression's own. Variables that `wrap` binds are in `bound`. */
  add(label: string, expression: Expression, wrap = (jq: string): string => jq, bound: readonly string[] = []): Slot {
    const constant = constantOf(expression);
    if (constant !== undefined) return { constant };
    if (isIdentity(expression)) return { same: true };
    return this.addText(label, wrap(expression.jq), mentions(expression.jq), bound);
  }

  addText(label: string, jq: string, names: readonly string[], bound: readonly string[] = []): Slot {
    for (const name of names) if (!bound.includes(name)) this.#names.add(name);
    this.#labels.push(label);
    return { result: this.#expressions.push(jq) - 1 };
  }

  get program(): Program {
    return { expressions: this.#expressions, labels: this.#labels, names: this.#names };
  }
}

/** `same`: the value of the identity. */
export function valueIn(slot: Slot, results: readonly JsonValue[], same: JsonValue): JsonValue {
  if ('constant' in slot) return slot.constant;
  if ('same' in slot) return same;
  const value = results[slot.result];
  if (value === undefined) throw new TypeError('An evaluation has fewer results than expressions.');
  return value;
}

/** An expression on the input of a task that its work needs. */
export interface WorkExpression {
  readonly label: string;
  readonly expression: Expression;
}

interface EnterProgram {
  readonly program: Program;
  /** Absent where another moment judged `if`. */
  readonly if: Slot | undefined;
  readonly from: Slot;
  readonly timeout: Slot | undefined;
  readonly work: readonly Slot[];
}

interface LeaveProgram {
  readonly program: Program;
  readonly as: Slot;
  /** Absent where the context stays as it is, or `export.as` has a moment of its own. */
  readonly export: Slot | undefined;
}

/** None for a duration that is no expression. */
export function durationExpressions(label: string, duration: Duration | undefined): readonly WorkExpression[] {
  return duration !== undefined && 'expression' in duration ? [{ label, expression: duration.expression }] : [];
}

/** `if` is judged alone where a schema is to be checked after it. */
export function judgesIfAlone(task: Task): boolean {
  return task.if !== undefined && task.input.schema !== undefined;
}

const identity: Expression = { jq: '.' };

/**
 * `input.from` and the expressions of the work are in one program: `$input` is bound in jq itself. Where `if` is false, jq evaluates
 * nothing else.
 */
export function enterProgram(task: Task, work: readonly WorkExpression[]): EnterProgram {
  const builder = new ProgramBuilder();
  const condition = judgesIfAlone(task) ? undefined : task.if;
  const from = task.input.from ?? identity;
  const guarded = condition !== undefined && condition.constant === undefined;
  const guard = (jq: string): string => (guarded ? `if ${enclose(condition.jq)} then ${jq} else null end` : jq);
  const onInput = ({ label, expression }: WorkExpression): Slot => {
    if (isIdentity(expression) || expression.constant !== undefined || isIdentity(from)) {
      return builder.add(label, expression, (jq) => guard(bindDot(jq, 'input')), ['input']);
    }
    const jq = `${enclose(from.jq)} as $input | $input | ${enclose(expression.jq)}`;
    return builder.addText(label, guard(jq), [...mentions(from.jq), ...mentions(expression.jq)], ['input']);
  };
  const slots = {
    if: condition && builder.add('if', condition),
    from: builder.add('input.from', from, guard),
  };
  const [timeout] = durationExpressions('timeout', task.timeout);
  return { ...slots, timeout: timeout && onInput(timeout), work: work.map(onInput), program: builder.program };
}

/** Binds what the expression is evaluated on to a variable, where it mentions that. */
function bindDot(jq: string, name: 'input' | 'output'): string {
  return mentions(jq).includes(name) ? `. as $${name} | ${enclose(jq)}` : jq;
}

export const ifProgram = oncePer((task: Task): Program => {
  const builder = new ProgramBuilder();
  if (task.if !== undefined) builder.add('if', task.if);
  return builder.program;
});

/** `output.as`, with `export.as` where no schema is to be checked between the two. Evaluated on the raw output. */
export const leaveProgram = oncePer((task: Task): LeaveProgram => {
  const builder = new ProgramBuilder();
  const as = task.output.as ?? identity;
  const slot = builder.add('output.as', as);
  const exported = task.output.schema === undefined ? task.export.as : undefined;
  return { as: slot, export: exported && addExport(builder, exported, as), program: builder.program };
});

function addExport(builder: ProgramBuilder, exported: Expression, as: Expression): Slot {
  const label = 'export.as';
  if (exported.constant !== undefined || isIdentity(exported)) return builder.add(label, exported);
  const jq = isIdentity(as) ? bindDot(exported.jq, 'output') : `${enclose(as.jq)} as $output | $output | ${enclose(exported.jq)}`;
  return builder.addText(label, jq, [...mentions(as.jq), ...mentions(exported.jq)], ['output']);
}

/** `export.as` alone, evaluated on the transformed output. */
export const exportProgram = oncePer((task: Task): LeaveProgram => {
  const builder = new ProgramBuilder();
  const slot = addExport(builder, task.export.as ?? identity, identity);
  return { as: slot, export: slot, program: builder.program };
});
