import type { CallTask } from '#workflows/workflow.ts';
import type { Argument, CallEffect } from './effects.ts';
import { advanceOutside, beginOutside } from './outside.ts';
import { constantOf, enclosed, isIdentity, mentions, oncePer, type Program, ProgramBuilder } from './programs.ts';
import type { OutsideWork } from './run-state.ts';
import type { TaskBehaviour } from './task-kind.ts';
import { evaluation } from './variables.ts';
import { type ActivityPlace, isExpired } from './view.ts';

/** The arguments are evaluated with the call itself. */
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
  if (isIdentity(task.with)) return { value: activity.input.text };
  return { evaluation: evaluation(place, argumentProgram(task), activity.input) };
}

const argumentProgram = oncePer((task: CallTask): Program => {
  const builder = new ProgramBuilder();
  builder.addText('with', `. as $input | ${enclosed(task.with.jq)}`, mentions(task.with.jq), ['input']);
  return builder.program;
});
