import { whyOwn } from '#workflows/own-events.ts';
import type { EmitTask } from '#workflows/workflow.ts';
import { JsonValue } from './json-value.ts';
import type { PublishWork } from './run-state.ts';
import { standardError } from './task-error.ts';
import type { TaskBehaviour } from './task-kind.ts';
import { expressionError, faulted, type Turn } from './turn.ts';
import { isExpired } from './view.ts';

export const emitBehaviour: TaskBehaviour<EmitTask, PublishWork> = {
  expressions: (task) => [{ label: 'emit.event', expression: task.event }],
  begin: ({ run, task, activity }, [value = activity.input]) => {
    const event = completeEvent(value, run, activity.id);
    if (event === undefined) return faulted(task, expressionError('emit.event', 'is no object'));
    if ('problem' in event) return faulted(task, standardError('validation', 'The event cannot be emitted', event.problem));
    return { kind: 'busy', state: { kind: 'publish', wait: run.nextWait(), event } };
  },
  advance: (place, work, event) => {
    const { run, task } = place;
    if (isExpired(place) || run.target !== work.wait) return { kind: 'busy', state: work };
    if (event.kind === 'failed') return faulted(task, event.error);
    return event.kind === 'published' ? { kind: 'ended', output: work.event } : { kind: 'busy', state: work };
  },
  effects: (_place, { wait, event }, sink) => sink.add(wait, (key) => ({ kind: 'publish', key, event: event.text })),
};

/** Adds the attributes that every CloudEvent has and the document may leave out. The others stay as they are written. */
function completeEvent(value: JsonValue, run: Turn, activity: number): JsonValue | { readonly problem: string } | undefined {
  const event: unknown = JSON.parse(value.text);
  if (typeof event !== 'object' || event === null || Array.isArray(event)) return undefined;
  const problem = problemOf(event);
  if (problem !== undefined) return { problem };
  const defaults = {
    specversion: '1.0',
    id: run.hash(`event ${activity}`).toString('hex', 0, 16),
    time: new Date(run.at).toISOString(),
  };
  const absent = Object.entries(defaults).filter(([name]) => !Object.hasOwn(event, name));
  const added = absent.map(([name, text]) => `"${name}":"${text}"`);
  const written = value.text.trim().slice(1, -1).trim();
  return new JsonValue(`{${[...added, ...(written === '' ? [] : [written])].join(',')}}`);
}

/** As of an event that a caller sends: streams and lists have the attributes whole. */
const mostAttributes = 50;
const longestAttribute = 2_048;

function tooLong(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > longestAttribute ? `has more than ${longestAttribute} characters` : undefined;
}

/** Expressions may have made what storing refuses in a text. */
function problemOf(event: object): string | undefined {
  const entries = Object.entries(event).filter(([name]) => name !== 'data' && name !== 'data_base64');
  if (entries.length > mostAttributes) return `emit.event: has more than ${mostAttributes} attributes`;
  for (const [name, value] of entries) {
    const isText = typeof value === 'string' && value !== '';
    const problem = (name === 'type' || name === 'source') && !isText ? 'is no text' : (whyOwn(name, value) ?? tooLong(value));
    if (problem !== undefined) return `emit.event: ${name} ${problem}`;
  }
  return undefined;
}
