import type { Task } from '#workflows/workflow.ts';
import { isoOf, momentAfter } from './durations.ts';
import { isTrue, type JsonValue, nullValue } from './json-value.ts';
import { afterWork, fault, inStage } from './leaving.ts';
import { constantOf, oncePer, valueIn } from './programs.ts';
import { evaluatedBy } from './results.ts';
import type { Activity, EnteringStage } from './run-state.ts';
import { checkEffects, checkedBy } from './schema-check.ts';
import { behaviourOf } from './task-behaviours.ts';
import type { EffectSink } from './task-kind.ts';
import { enterProgram, ifProgram, judgesIfAlone } from './task-programs.ts';
import { expressionError, type Progress, type StepEvent, type TurnPlace } from './turn.ts';
import { evaluation } from './variables.ts';
import type { ActivityPlace } from './view.ts';

const programOf = oncePer((task: Task) => enterProgram(task, behaviourOf(task).expressions?.(task) ?? []));

/** Takes a task that was created as far as it comes without an effect. */
export function enter(place: TurnPlace): Progress<Activity> {
  const { run, task } = place;
  if (task.if === undefined) run.note(place, 'started');
  if (!judgesIfAlone(task)) return checkInput(place);
  const constant = task.if === undefined ? undefined : constantOf(task.if);
  if (constant !== undefined) return judged(place, constant);
  return inStage(place, { kind: 'if', wait: run.nextWait() });
}

function judged(place: TurnPlace, condition: JsonValue): Progress<Activity> {
  if (!isTrue(condition)) return skip(place);
  place.run.note(place, 'started');
  return checkInput(place);
}

function skip(place: TurnPlace): Progress<Activity> {
  place.run.note(place, 'skipped');
  return { kind: 'ended', output: place.activity.raw, directive: 'continue' };
}

function checkInput(place: TurnPlace): Progress<Activity> {
  const { run, task } = place;
  if (task.input.schema === undefined) return transformInput(place);
  return inStage(place, { kind: 'check-input', wait: run.nextWait() });
}

function transformInput(place: TurnPlace): Progress<Activity> {
  const { run, task } = place;
  if (programOf(task).program.expressions.length === 0) return entered(place, []);
  return inStage(place, { kind: 'enter', wait: run.nextWait() });
}

/** Everything that the work needs is known. */
function entered(place: TurnPlace, results: readonly JsonValue[]): Progress<Activity> {
  const { run, task, activity } = place;
  const slots = programOf(task);
  if (slots.if !== undefined) {
    if (!isTrue(valueIn(slots.if, results, activity.raw))) return skip(place);
    run.note(place, 'started');
  }
  const input = valueIn(slots.from, results, activity.raw);
  const tooLarge = run.tooLarge(task, input);
  if (tooLarge !== undefined) return afterWork(place, tooLarge);
  if (activity.id === 0) run.context = input;
  const limit = slots.timeout === undefined ? undefined : valueIn(slots.timeout, results, input);
  const deadline = limit === undefined ? activity.deadline : deadlineOf(task, activity.begun, limit);
  if (limit !== undefined && deadline === undefined) {
    return fault(place, expressionError('timeout', `${limit.text} is no ISO 8601 duration`));
  }
  const inside = { ...place, activity: { ...activity, input, deadline } };
  const values = slots.work.map((slot) => valueIn(slot, results, input));
  return afterWork(inside, behaviourOf(task).begin(inside, values));
}

/** When the task's time limit passes. `value`: the result of its expression, if it has one. */
export function deadlineOf({ timeout }: Task, begun: number, value?: JsonValue): number | undefined {
  if (timeout === undefined || ('expression' in timeout && value === undefined)) return undefined;
  const iso = isoOf(timeout, value);
  return iso === undefined ? undefined : momentAfter(begun, iso);
}

export function advanceEntering(place: TurnPlace, stage: EnteringStage, event: StepEvent): Progress<Activity> {
  const { run, task, activity } = place;
  const same: Progress<Activity> = { kind: 'busy', state: activity };
  if (stage.kind === 'check-input') {
    const { schema } = task.input;
    const checked = schema === undefined ? {} : checkedBy(place, { schema, wait: stage.wait }, event);
    if (checked === undefined) return same;
    return checked.error === undefined ? transformInput(place) : fault(place, checked.error, '/input');
  }
  const program = stage.kind === 'if' ? ifProgram(task) : programOf(task).program;
  const found = evaluatedBy(run, stage.wait, program, event);
  if (found === undefined) return same;
  if ('error' in found) return fault(place, found.error, '/input');
  if (stage.kind === 'enter') return entered(place, found.values);
  return judged(place, found.values[0] ?? nullValue);
}

export function enteringEffects(place: ActivityPlace, { kind, wait }: EnteringStage, sink: EffectSink): void {
  const { task, activity } = place;
  if (kind === 'check-input') {
    const { schema } = task.input;
    if (schema !== undefined) checkEffects(place, { schema, value: activity.raw, wait }, sink);
    return;
  }
  const program = kind === 'if' ? ifProgram(task) : programOf(task).program;
  sink.add(wait, (key) => ({ kind: 'evaluate', key, ...evaluation(place, program, activity.raw) }));
}
