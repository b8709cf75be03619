import type { CallTask } from '#workflows/workflow.ts';
import type { Argument, CallEffect, TaskEvaluation } from './effects.ts';
import { advanceOutside, beginOutside } from './outside.ts';
import { constantOf, enclosed, isIdentity, mentions, oncePer, type Program, ProgramBuilder } from './programs.ts';
import type { OutsideWork } from './run-state.ts';
import type { TaskBehaviour } from './task-kind.ts';
import { evaluation } from './variables.ts';
import { type ActivityPlace, isExpired } from './view.ts';

/** The arguments are evaluated with the call itself, so that a secret in them is in no state. */
export const callBehaviour: TaskBehaviour<CallTask, OutsideWork> = {
  begin: (place) => beginOutside(place, 1),
  advance: advanceOutside,
  effects: (place, work, sink) => {
    if (work.answer !== undefined || work.undecided !== undefined) return;
    const { task, activity } = place;
    const { attempt } = work;
    const make = (key: string): CallEffect => ({
      kind: 'call',
      key,
      activity: activity.id,
      attempt,
      reference: task.reference,
      abort: isExpired(place),
      function: task.function,
      with: argumentsOf(place),
    });
    sink.add(work.wait, make, task.function === 'approval' ? 'waiting' : 'running');
  },
};

function argumentsOf(place: ActivityPlace<CallTask>): Argument {
  const { task, activity } = place;
  const constant = constantOf(task.with);
  if (constant !== undefined) return { value: constant.text };
  if (isIdentity(task.with) && !takesSecrets(task)) return { value: activity.input.text };
  return { evaluation: evaluationOf(place) };
}

/**
 * What `input.from` makes of a secret is not kept either: `$input` has it masked. So a call whose `input.from` names `$secrets` evaluates
 * `input.from` with its arguments.
 */
function evaluationOf(place: ActivityPlace<CallTask>): TaskEvaluation {
  const { task, activity } = place;
  return evaluation(place, argumentProgram(task), takesSecrets(task) ? activity.raw : activity.input);
}

function takesSecrets({ input }: CallTask): boolean {
  return input.from !== undefined && mentions(input.from.jq).includes('secrets');
}

const argumentProgram = oncePer((task: CallTask): Program => {
  const builder = new ProgramBuilder();
  const from = takesSecrets(task) ? (task.input.from?.jq ?? '.') : '.';
  const names = [...mentions(from), ...mentions(task.with.jq)];
  builder.addText('with', `${enclosed(from)} as $input | $input | ${enclosed(task.with.jq)}`, names, ['input']);
  return builder.program;
});
