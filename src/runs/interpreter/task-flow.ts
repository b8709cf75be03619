import type { DataSchema, Directive, Task } from '#workflows/workflow.ts';
import { evaluate, evaluation, readEvaluated } from './evaluation.ts';
import { behaviourOf } from './kinds/task-behaviours.ts';
import type { EffectSink } from './kinds/task-kind.ts';
import {
  constantOf,
  enterProgram,
  exportProgram,
  ifProgram,
  isIdentity,
  judgesIfAlone,
  leaveProgram,
  oncePer,
  programOf,
  valueIn,
} from './programs.ts';
import { isTrue, type JsonValue, nullValue } from './state/json-value.ts';
import type { Activity, ActivityStage, EnteringStage, LeavingStage, Work } from './state/run-state.ts';
import type { ActivityLocation } from './state/view.ts';
import { type EffectError, standardError } from './task-error.ts';
import { isoOf, momentAfter } from './time-limit.ts';
import { atTask, expressionError, type Progress, type StepEvent, type TurnLocation } from './turn.ts';

const entryOf = oncePer((task: Task) => enterProgram(task, behaviourOf(task).expressions?.(task) ?? []));

export function enter(place: TurnLocation): Progress<Activity> {
  const { run, task } = place;
  if (task.if === undefined) run.note(place, 'started');
  if (task.if === undefined || !judgesIfAlone(task)) return checkInput(place);
  const constant = constantOf(task.if);
  return constant === undefined ? inStage(place, { kind: 'if', wait: run.nextWait() }) : judgeIf(place, constant);
}

function judgeIf(place: TurnLocation, condition: JsonValue): Progress<Activity> {
  if (!isTrue(condition)) return skip(place);
  place.run.note(place, 'started');
  return checkInput(place);
}

function skip(place: TurnLocation): Progress<Activity> {
  place.run.note(place, 'skipped');
  return { kind: 'ended', output: place.activity.raw, directive: 'continue' };
}

function checkInput(place: TurnLocation): Progress<Activity> {
  const { run, task } = place;
  if (task.input.schema === undefined) return transformInput(place);
  return inStage(place, { kind: 'check-input', wait: run.nextWait() });
}

function transformInput(place: TurnLocation): Progress<Activity> {
  if (entryOf(place.task).program.expressions.length === 0) return beginWork(place, []);
  return inStage(place, { kind: 'enter', wait: place.run.nextWait() });
}

function beginWork(place: TurnLocation, results: readonly JsonValue[]): Progress<Activity> {
  const { run, task, activity } = place;
  const slots = entryOf(task);
  if (slots.if !== undefined) {
    if (!isTrue(valueIn(slots.if, results, activity.raw))) return skip(place);
    run.note(place, 'started');
  }
  const input = valueIn(slots.from, results, activity.raw);
  const tooLarge = run.tooLarge(task, input);
  if (tooLarge !== undefined) return afterWork(place, tooLarge);
  if (activity.id === 0) run.context = input;
  const limit = slots.timeout && valueIn(slots.timeout, results, input);
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
  return timeout && momentAfter(begun, isoOf(timeout, value));
}

export function advanceEntering(place: TurnLocation, stage: EnteringStage, event: StepEvent): Progress<Activity> {
  const { run, task, activity } = place;
  const same: Progress<Activity> = { kind: 'busy', state: activity };
  if (stage.kind === 'check-input') {
    const checked = readVerdict(place, task.input.schema, stage.wait, event);
    if (checked === undefined) return same;
    return checked.error === undefined ? transformInput(place) : fault(place, checked.error, '/input');
  }
  const found = readEvaluated(run, stage.wait, entryProgram(task, stage), event);
  if (found === undefined) return same;
  if ('error' in found) return fault(place, found.error, '/input');
  return stage.kind === 'enter' ? beginWork(place, found.values) : judgeIf(place, found.values[0] ?? nullValue);
}

function entryProgram(task: Task, { kind }: EnteringStage) {
  return kind === 'if' ? ifProgram(task) : entryOf(task).program;
}

export function enteringEffects(place: ActivityLocation, stage: EnteringStage, sink: EffectSink): void {
  const { task, activity } = place;
  const { raw } = activity;
  if (stage.kind === 'check-input') addCheck(place, { schema: task.input.schema, value: raw, wait: stage.wait }, sink);
  else sink.add(stage.wait, evaluate(place, entryProgram(task, stage), raw));
}

/** The task's result, taken from its work's result. */
export function afterWork(place: TurnLocation, progress: Progress<Work>): Progress<Activity> {
  switch (progress.kind) {
    case 'busy':
      return { ...progress, state: { ...place.activity, stage: { kind: 'work', work: progress.state } } };
    case 'faulted':
      place.run.note(place, 'faulted', { error: progress.error });
      return progress;
    case 'ended':
      return leave(place, progress.output, progress.directive ?? place.task.then);
    default:
      if (place.activity.id === 0) return leave(place, progress.output, 'end');
      place.run.note(place, 'completed', { output: progress.output });
      return progress;
  }
}

function fault(place: TurnLocation, error: EffectError, part = ''): Progress<Activity> {
  return afterWork(place, { kind: 'faulted', error: atTask(place.task, error, part) });
}

function inStage(place: TurnLocation, stage: ActivityStage): Progress<Activity> {
  return { kind: 'busy', state: { ...place.activity, stage } };
}

type Leaving = Omit<LeavingStage, 'kind' | 'wait'>;

function leave(place: TurnLocation, output: JsonValue, directive: Directive): Progress<Activity> {
  const { run, task } = place;
  const tooLarge = run.tooLarge(task, output);
  if (tooLarge !== undefined) return afterWork(place, tooLarge);
  const leaving = { output, value: output, directive };
  if (leaveProgram(task).program.expressions.length === 0) return transformOutput(place, leaving, []);
  return inStage(place, { ...leaving, kind: 'leave', wait: run.nextWait() });
}

function transformOutput(place: TurnLocation, leaving: Leaving, results: readonly JsonValue[]): Progress<Activity> {
  const { run, task } = place;
  const slots = leaveProgram(task);
  const value = valueIn(slots.as, results, leaving.output);
  const context = slots.export && valueIn(slots.export, results, value);
  const tooLarge = run.tooLarge(task, value, context);
  if (tooLarge !== undefined) return afterWork(place, tooLarge);
  const now = { ...leaving, value, context };
  if (task.output.schema !== undefined) return inStage(place, { ...now, kind: 'check-output', wait: run.nextWait() });
  return checkContext(place, now);
}

function exportOutput(place: TurnLocation, leaving: Leaving): Progress<Activity> {
  const { as } = place.task.export;
  if (as === undefined) return checkContext(place, leaving);
  const known = isIdentity(as) ? leaving.value : constantOf(as);
  if (known !== undefined) return changeContext(place, leaving, known);
  return inStage(place, { ...leaving, kind: 'export', wait: place.run.nextWait() });
}

function changeContext(place: TurnLocation, leaving: Leaving, context: JsonValue): Progress<Activity> {
  const tooLarge = place.run.tooLarge(place.task, leaving.value, context);
  return tooLarge === undefined ? checkContext(place, { ...leaving, context }) : afterWork(place, tooLarge);
}

function checkContext(place: TurnLocation, leaving: Leaving): Progress<Activity> {
  if (leaving.context === undefined || place.task.export.schema === undefined) return complete(place, leaving);
  return inStage(place, { ...leaving, kind: 'check-context', wait: place.run.nextWait() });
}

function complete(place: TurnLocation, { value, context, directive }: Leaving): Progress<Activity> {
  const { run } = place;
  if (context !== undefined) run.context = context;
  run.note(place, 'completed', { output: value });
  return { kind: 'ended', output: value, directive };
}

export function advanceLeaving(place: TurnLocation, stage: LeavingStage, event: StepEvent): Progress<Activity> {
  const { run, task, activity } = place;
  const { kind, wait, value } = stage;
  const same: Progress<Activity> = { kind: 'busy', state: activity };
  if (kind === 'check-output' || kind === 'check-context') {
    const checked = readVerdict(place, leavingSchema(task, stage), wait, event);
    if (checked === undefined) return same;
    if (checked.error !== undefined) return fault(place, checked.error, '/output');
    return kind === 'check-output' ? exportOutput(place, stage) : complete(place, stage);
  }
  const { program, as } = leavingProgram(task, stage);
  const found = readEvaluated(run, wait, program, event);
  if (found === undefined) return same;
  if ('error' in found) return fault(place, found.error, '/output');
  return kind === 'leave'
    ? transformOutput(place, stage, found.values)
    : changeContext(place, stage, valueIn(as, found.values, value));
}

function leavingProgram(task: Task, { kind }: LeavingStage) {
  return kind === 'leave' ? leaveProgram(task) : exportProgram(task);
}

function leavingSchema({ output, export: exported }: Task, { kind }: LeavingStage): DataSchema | undefined {
  return kind === 'check-output' ? output.schema : exported.schema;
}

export function leavingEffects(place: ActivityLocation, stage: LeavingStage, sink: EffectSink): void {
  const { task, activity } = place;
  const { kind, wait, output, value, context } = stage;
  if (kind === 'check-output' || kind === 'check-context') {
    const checked = kind === 'check-output' ? value : context;
    if (checked !== undefined) addCheck(place, { schema: leavingSchema(task, stage), value: checked, wait }, sink);
    return;
  }
  // `$input` does not exist for the output of the workflow itself.
  const moment = activity.id === 0 ? { output } : { output, input: activity.input };
  sink.add(wait, evaluate(place, leavingProgram(task, stage).program, kind === 'leave' ? output : value, moment));
}

interface Check {
  readonly schema: DataSchema | undefined;
  readonly value: JsonValue;
  readonly wait: number;
}

function addCheck(place: ActivityLocation, { schema, value, wait }: Check, sink: EffectSink): void {
  if (schema === undefined) return;
  const { pointer, resource } = schema;
  const document = schema.document ?? place.run.run.resources.find((known) => known.pointer === pointer)?.document.text;
  if (document !== undefined) {
    sink.add(wait, (key) => ({ kind: 'validate', key, schema: { pointer, document }, value: value.text }));
  } else if (resource !== undefined) {
    const constant = constantOf(resource.endpoint);
    const endpoint =
      constant === undefined
        ? { evaluation: evaluation(place, programOf('endpoint', resource.endpoint.jq), value) }
        : { value: constant.text };
    sink.add(wait, () => ({ kind: 'fetch', key: fetchKey(pointer), pointer, endpoint }));
  }
}

/** A fetch has one key for all tasks that wait for it. */
function fetchKey(pointer: string): string {
  return `fetch:${pointer}`;
}

function readVerdict(
  { run }: TurnLocation,
  schema: DataSchema | undefined,
  wait: number,
  event: StepEvent,
): { readonly error?: EffectError } | undefined {
  if (schema === undefined) return {};
  if (event.kind === 'failed' && (run.target === wait || event.key === fetchKey(schema.pointer))) return { error: event.error };
  if (event.kind !== 'validated' || run.target !== wait) return undefined;
  if (event.problems.length === 0) return {};
  return { error: standardError('validation', 'Data does not satisfy its schema', event.problems.join('; ')) };
}
