import { whyOwn } from '#workflows/own-events.ts';
import type { EmitTask, RaiseTask, SetTask, SwitchTask } from '#workflows/workflow.ts';
import { enclose, oncePer } from '../programs.ts';
import { JsonValue } from '../state/json-value.ts';
import type { PublishWork } from '../state/run-state.ts';
import { isExpired } from '../state/view.ts';
import { readError, standardError } from '../task-error.ts';
import { expressionError, fault, type Turn } from '../turn.ts';
import type { TaskBehaviour } from './task-kind.ts';

export const setBehaviour: TaskBehaviour<SetTask> = {
  expressions: (task) => [{ label: 'set', expression: task.value }],
  begin: ({ activity }, [output = activity.input]) => ({ kind: 'ended', output }),
};

export const raiseBehaviour: TaskBehaviour<RaiseTask> = {
  expressions: (task) => [{ label: 'raise.error', expression: task.error }],
  begin: ({ task, activity }, [value = activity.input]) => {
    const error = readError(value, task.reference);
    if (error !== undefined) return { kind: 'faulted', error };
    const detail = `raise.error: needs a text as "type" and a whole number as "status", and gave ${value.text.slice(0, 200)}`;
    return fault(task, standardError('configuration', 'No error to raise', detail));
  },
};

export const switchBehaviour: TaskBehaviour<SwitchTask> = {
  expressions: (task) => [{ label: 'switch', expression: choose(task) }],
  begin: ({ task, activity }, [chosen]) => {
    const taken = task.cases[Number(chosen?.text ?? Number.NaN)];
    return { kind: 'ended', output: activity.input, directive: taken?.then };
  },
};

/** Gives the index of the first case whose condition is true, else that of the case without one, else null. jq tries them in order. */
const choose = oncePer(({ cases }: SwitchTask) => {
  const otherwise = cases.findIndex(({ when }) => when === undefined);
  const fallback = otherwise === -1 ? 'null' : String(otherwise);
  const conditions = cases.flatMap(({ when }, index) => (when === undefined ? [] : [{ jq: when.jq, index }]));
  const jq = conditions.reduceRight((rest, { jq, index }) => `if ${enclose(jq)} then ${index} else ${rest} end`, fallback);
  return conditions.length === 0 ? { jq, constant: jq } : { jq };
});

export const emitBehaviour: TaskBehaviour<EmitTask, PublishWork> = {
  expressions: (task) => [{ label: 'emit.event', expression: task.event }],
  begin: ({ run, task, activity }, [value = activity.input]) => {
    const event = completeEvent(value, run, activity.id);
    if (event === undefined) return fault(task, expressionError('emit.event', 'is no object'));
    if ('problem' in event) return fault(task, standardError('validation', 'The event cannot be emitted', event.problem));
    return { kind: 'busy', state: { kind: 'publish', wait: run.nextWait(), event } };
  },
  advance: (place, work, event) => {
    const { run, task } = place;
    if (isExpired(place) || run.target !== work.wait) return { kind: 'busy', state: work };
    if (event.kind === 'failed') return fault(task, event.error);
    return event.kind === 'published' ? { kind: 'ended', output: work.event } : { kind: 'busy', state: work };
  },
  effects: (_place, { wait, event }, sink) => sink.add(wait, (key) => ({ kind: 'publish', key, event: event.text })),
};

/** Adds the attributes that the document may leave out. The others stay as they are written. */
function completeEvent(value: JsonValue, run: Turn, activity: number): JsonValue | { readonly problem: string } | undefined {
  const event: unknown = JSON.parse(value.text);
  if (typeof event !== 'object' || event === null || Array.isArray(event)) return undefined;
  const problem = problemOf(event);
  if (problem !== undefined) return { problem };
  const id = run.hash(`event ${activity}`).toString('hex', 0, 16);
  const defaults = { specversion: '1.0', id, time: new Date(run.at).toISOString() };
  const absent = Object.entries(defaults).filter(([name]) => !Object.hasOwn(event, name));
  const added = absent.map(([name, text]) => `"${name}":"${text}"`);
  const written = value.text.trim().slice(1, -1).trim();
  return new JsonValue(`{${[...added, written].filter((part) => part !== '').join(',')}}`);
}

/** As of an event that a caller sends. */
const maxAttributes = 50;
const maxAttributeLength = 2_048;

function tooLong(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > maxAttributeLength ? `has more than ${maxAttributeLength} characters` : undefined;
}

/** Expressions may have made what storing refuses in a text. */
function problemOf(event: object): string | undefined {
  const entries = Object.entries(event).filter(([name]) => name !== 'data' && name !== 'data_base64');
  if (entries.length > maxAttributes) return `emit.event: has more than ${maxAttributes} attributes`;
  for (const [name, value] of entries) {
    const isText = typeof value === 'string' && value !== '';
    const problem = (name === 'type' || name === 'source') && !isText ? 'is no text' : (whyOwn(name, value) ?? tooLong(value));
    if (problem !== undefined) return `emit.event: ${name} ${problem}`;
  }
  return undefined;
}
