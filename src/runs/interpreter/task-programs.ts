import type { Duration, Expression, Task } from '#workflows/workflow.ts';
import { enclosed, isIdentity, mentions, oncePer, type Program, ProgramBuilder, type Slot } from './programs.ts';

/** An expression on the input of a task that its work needs. */
export interface WorkExpression {
  readonly label: string;
  readonly expression: Expression;
}

/** What a task evaluates before its work, all at one moment and on its raw input. */
interface EnterProgram {
  readonly program: Program;
  /** Absent where another moment judged `if`. */
  readonly if: Slot | undefined;
  readonly from: Slot;
  readonly timeout: Slot | undefined;
  readonly work: readonly Slot[];
}

export interface LeaveProgram {
  readonly program: Program;
  readonly as: Slot;
  /** Absent where the context stays as it is, or `export.as` has a moment of its own. */
  readonly export: Slot | undefined;
}

/** The expression of a duration that has one. */
export function durationExpressions(label: string, duration: Duration | undefined): readonly WorkExpression[] {
  return duration !== undefined && 'expression' in duration ? [{ label, expression: duration.expression }] : [];
}

/** `if` is judged alone where a schema is to be checked after it. */
export function judgesIfAlone(task: Task): boolean {
  return task.if !== undefined && task.input.schema !== undefined;
}

/**
 * `input.from` and the expressions of the work are in one program: `$input` is bound in jq itself. Where `if` is false, jq evaluates
 * nothing else.
 */
export function enterProgram(task: Task, work: readonly WorkExpression[]): EnterProgram {
  const builder = new ProgramBuilder();
  const condition = task.if === undefined || judgesIfAlone(task) ? undefined : task.if;
  const from = task.input.from ?? identity;
  const guarded = condition !== undefined && condition.constant === undefined;
  const guard = (jq: string): string => (guarded ? `if ${enclosed(condition.jq)} then ${jq} else null end` : jq);
  const onInput = ({ label, expression }: WorkExpression): Slot => {
    if (isIdentity(expression) || expression.constant !== undefined || isIdentity(from)) {
      return builder.add(label, expression, (jq) => guard(bindInput(jq)), ['input']);
    }
    const jq = `${enclosed(from.jq)} as $input | $input | ${enclosed(expression.jq)}`;
    return builder.addText(label, guard(jq), [...mentions(from.jq), ...mentions(expression.jq)], ['input']);
  };
  const slots = {
    if: condition === undefined ? undefined : builder.add('if', condition),
    from: builder.add('input.from', from, guard),
  };
  const [timeout] = durationExpressions('timeout', task.timeout);
  return {
    ...slots,
    timeout: timeout === undefined ? undefined : onInput(timeout),
    work: work.map(onInput),
    program: builder.program,
  };
}

const identity: Expression = { jq: '.' };

/** The expression with `$input` bound to what it is evaluated on. */
function bindInput(jq: string): string {
  return mentions(jq).includes('input') ? `. as $input | ${enclosed(jq)}` : jq;
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
  const exported = task.output.schema === undefined ? task.export.as : undefined;
  const bind = (jq: string): string =>
    isIdentity(as) ? bindOutput(jq) : `${enclosed(as.jq)} as $output | $output | ${enclosed(jq)}`;
  const slots = { as: builder.add('output.as', as) };
  if (exported === undefined) return { ...slots, export: undefined, program: builder.program };
  if (exported.constant !== undefined || isIdentity(exported)) {
    return { ...slots, export: builder.add('export.as', exported), program: builder.program };
  }
  const names = [...mentions(as.jq), ...mentions(exported.jq)];
  return { ...slots, export: builder.addText('export.as', bind(exported.jq), names, ['output']), program: builder.program };
});

/** `export.as` alone, evaluated on the transformed output. */
export const exportProgram = oncePer((task: Task): LeaveProgram => {
  const builder = new ProgramBuilder();
  const exported = task.export.as ?? identity;
  const slot = builder.add('export.as', exported, bindOutput, ['output']);
  return { as: slot, export: slot, program: builder.program };
});

function bindOutput(jq: string): string {
  return mentions(jq).includes('output') ? `. as $output | ${enclosed(jq)}` : jq;
}
