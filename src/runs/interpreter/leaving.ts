import type { Directive } from '#workflows/workflow.ts';
import type { JsonValue } from './json-value.ts';
import { constantOf, isIdentity, valueIn } from './programs.ts';
import { evaluatedBy } from './results.ts';
import type { Activity, ActivityStage, LeavingStage, Work } from './run-state.ts';
import { checkEffects, checkedBy } from './schema-check.ts';
import type { EffectError } from './task-error.ts';
import type { EffectSink } from './task-kind.ts';
import { exportProgram, type LeaveProgram, leaveProgram } from './task-programs.ts';
import { atTask, type Progress, type StepEvent, type TurnPlace } from './turn.ts';
import { evaluation } from './variables.ts';
import type { ActivityPlace } from './view.ts';

/** What came of the work as what came of the task. */
export function afterWork(place: TurnPlace, progress: Progress<Work>): Progress<Activity> {
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

export function fault(place: TurnPlace, error: EffectError, part = ''): Progress<Activity> {
  return afterWork(place, { kind: 'faulted', error: atTask(place.task, error, part) });
}

export function inStage(place: TurnPlace, stage: ActivityStage): Progress<Activity> {
  return { kind: 'busy', state: { ...place.activity, stage } };
}

type Leaving = Omit<LeavingStage, 'kind' | 'wait'>;

function leave(place: TurnPlace, output: JsonValue, directive: Directive): Progress<Activity> {
  const { run, task } = place;
  const tooLarge = run.tooLarge(task, output);
  if (tooLarge !== undefined) return afterWork(place, tooLarge);
  const leaving = { output, value: output, directive };
  const program = leaveProgram(task);
  if (program.program.expressions.length > 0) return inStage(place, { ...leaving, kind: 'leave', wait: run.nextWait() });
  return transformed(place, leaving, program, []);
}

/** `output.as` gave the output. */
function transformed(
  place: TurnPlace,
  leaving: Leaving,
  program: LeaveProgram,
  results: readonly JsonValue[],
): Progress<Activity> {
  const { run, task } = place;
  const value = valueIn(program.as, results, leaving.output);
  const context = program.export === undefined ? undefined : valueIn(program.export, results, value);
  const tooLarge = run.tooLarge(task, value, context);
  if (tooLarge !== undefined) return afterWork(place, tooLarge);
  const now = { ...leaving, value, context };
  if (task.output.schema !== undefined) return inStage(place, { ...now, kind: 'check-output', wait: run.nextWait() });
  return exported(place, now);
}

/** The output satisfies its schema. */
function outputChecked(place: TurnPlace, leaving: Leaving): Progress<Activity> {
  const { run, task } = place;
  const { as } = task.export;
  if (as === undefined) return exported(place, leaving);
  const known = isIdentity(as) ? leaving.value : constantOf(as);
  if (known !== undefined) return newContext(place, leaving, known);
  return inStage(place, { ...leaving, kind: 'export', wait: run.nextWait() });
}

function newContext(place: TurnPlace, leaving: Leaving, context: JsonValue): Progress<Activity> {
  const tooLarge = place.run.tooLarge(place.task, leaving.value, context);
  return tooLarge === undefined ? exported(place, { ...leaving, context }) : afterWork(place, tooLarge);
}

function exported(place: TurnPlace, leaving: Leaving): Progress<Activity> {
  const { run, task } = place;
  if (leaving.context !== undefined && task.export.schema !== undefined) {
    return inStage(place, { ...leaving, kind: 'check-context', wait: run.nextWait() });
  }
  return complete(place, leaving);
}

function complete(place: TurnPlace, { value, context, directive }: Leaving): Progress<Activity> {
  const { run } = place;
  if (context !== undefined) run.context = context;
  run.note(place, 'completed', { output: value });
  return { kind: 'ended', output: value, directive };
}

export function advanceLeaving(place: TurnPlace, stage: LeavingStage, event: StepEvent): Progress<Activity> {
  const progress = isEvaluation(stage) ? advanceEvaluation(place, stage, event) : advanceCheck(place, stage, event);
  return progress ?? { kind: 'busy', state: place.activity };
}

function isEvaluation({ kind }: LeavingStage): boolean {
  return kind === 'leave' || kind === 'export';
}

function advanceEvaluation(place: TurnPlace, stage: LeavingStage, event: StepEvent): Progress<Activity> | undefined {
  const { run, task } = place;
  const program = stage.kind === 'leave' ? leaveProgram(task) : exportProgram(task);
  const found = evaluatedBy(run, stage.wait, program.program, event);
  if (found === undefined) return undefined;
  if ('error' in found) return fault(place, found.error, '/output');
  if (stage.kind === 'leave') return transformed(place, stage, program, found.values);
  return newContext(place, stage, valueIn(program.as, found.values, stage.value));
}

function advanceCheck(place: TurnPlace, stage: LeavingStage, event: StepEvent): Progress<Activity> | undefined {
  const { output, export: exports } = place.task;
  const schema = stage.kind === 'check-output' ? output.schema : exports.schema;
  const checked = schema === undefined ? {} : checkedBy(place, { schema, wait: stage.wait }, event);
  if (checked === undefined) return undefined;
  if (checked.error !== undefined) return fault(place, checked.error, '/output');
  return stage.kind === 'check-output' ? outputChecked(place, stage) : complete(place, stage);
}

export function leavingEffects(place: ActivityPlace, stage: LeavingStage, sink: EffectSink): void {
  const { task, activity } = place;
  const { kind, wait, output, value, context } = stage;
  if (kind === 'leave' || kind === 'export') {
    // `$input` does not exist for the output of the workflow itself.
    const moment = activity.id === 0 ? { output } : { output, input: activity.input };
    const { program } = kind === 'leave' ? leaveProgram(task) : exportProgram(task);
    sink.add(wait, (key) => ({
      kind: 'evaluate',
      key,
      ...evaluation(place, program, kind === 'leave' ? output : value, moment),
    }));
    return;
  }
  const schema = kind === 'check-output' ? task.output.schema : task.export.schema;
  const checked = kind === 'check-output' ? value : context;
  if (schema !== undefined && checked !== undefined) checkEffects(place, { schema, value: checked, wait }, sink);
}
