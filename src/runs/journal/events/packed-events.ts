import { randomUUID } from 'node:crypto';
import type { Workflow } from '#workflows/workflow.ts';
import type { EventRecord, NewEvent } from '../run-records.ts';

/** The parts of a workflow that its events name. */
export type NamedWorkflow = Pick<Workflow, 'id' | 'name' | 'namespace' | 'version'>;

/** Members of the data behind its time. */
type More = Readonly<Record<string, unknown>>;

/** A lifecycle event of the DSL, as facts: of a task with its reference, activity, attempt and iteration, or of the run itself. */
export type EventFacts =
  | readonly [
      kind: string,
      at: number,
      task: readonly [reference: string, activity: number, attempt: number, iteration?: number],
      more?: More,
    ]
  | readonly [type: `workflow.${string}`, at: number, more?: More];

/** A row has so many events at most, and takes no more beyond so many characters: a reader of one event reads its row. */
const eventsInRow = 16;
const longRow = 16_384;

/** Events of one step, in rows of the event log. */
export function packedEvents(facts: readonly EventFacts[], { id, name, namespace }: NamedWorkflow): readonly NewEvent[] {
  const rows: { readonly at: number; readonly texts: string[]; length: number }[] = [];
  for (const event of facts) {
    let row = rows.at(-1);
    if (row === undefined || row.texts.length === eventsInRow || row.length > longRow) {
      row = { at: event[1], texts: [], length: 0 };
      rows.push(row);
    }
    const text = JSON.stringify(event);
    row.texts.push(text);
    row.length += text.length;
  }
  const head = JSON.stringify([name, namespace, id]);
  return rows.map(({ at, texts }) => ({
    at,
    kind: 'lifecycle',
    event: `[${[head, ...texts].join(',')}]`,
    packed: { identity: randomUUID(), count: texts.length },
  }));
}

interface EventRow extends Pick<EventRecord, 'at' | 'kind' | 'event'> {
  /** Of the last event in the row. */
  readonly number: number;
  readonly run: string | null;
  readonly identity: string | null;
}

/** `id`: of the CloudEvent; undefined where the row has one event as its text. */
type UnpackedEvent = Pick<EventRecord, 'number' | 'at' | 'event'> & { readonly id?: string };

/** The events of a row as CloudEvents 1.0, in the order of their numbers. A row of an earlier version has one, as its text. */
export function unpackedEvents({ number, at, kind, run, identity, event }: EventRow): readonly UnpackedEvent[] {
  // A CloudEvent is an object.
  if (kind !== 'lifecycle' || !event.startsWith('[') || run === null || identity === null) return [{ number, at, event }];
  const [head, ...facts] = JSON.parse(event) as [readonly [string, string, string], ...EventFacts[]];
  return facts.map((one, index) => {
    const id = idOf(identity, index);
    return { number: number - facts.length + 1 + index, at: one[1], id, event: cloudEvent(one, { id, run, head }) };
  });
}

function sourceOf(run: string): string {
  return `/runs/${run}`;
}

/** The lifecycle events of the DSL. Events of tasks leave the output out: it may be large. */
function cloudEvent(
  facts: EventFacts,
  { id, run, head: [name, namespace, workflow] }: { readonly id: string; readonly run: string; readonly head: readonly string[] },
): string {
  const time = new Date(facts[1]).toISOString();
  const qualified = `${name}-${run}.${namespace}`;
  const { type, data } = isOfTask(facts) ? ofTask(facts, qualified, time) : ofRun(facts, qualified, time);
  const head = { specversion: '1.0', id, source: sourceOf(run), type: `io.serverlessworkflow.${type}.v1`, time };
  return JSON.stringify({ ...head, subject: workflow, datacontenttype: 'application/json', data });
}

type TaskFacts = Extract<EventFacts, readonly [string, number, readonly unknown[], ...unknown[]]>;

function isOfTask(facts: EventFacts): facts is TaskFacts {
  return Array.isArray(facts[2]);
}

function ofTask([kind, , [task, activity, attempt, iteration], more]: TaskFacts, workflow: string, time: string) {
  const turn = iteration === undefined ? {} : { iteration };
  return {
    type: `task.${kind}`,
    data: { workflow, task, id: String(activity), ...turn, attempt, [`${kind}At`]: time, ...more },
  };
}

function ofRun([type, , more]: Exclude<EventFacts, TaskFacts>, name: string, time: string) {
  const kind = type.slice(type.lastIndexOf(type.includes('-') ? '-' : '.') + 1);
  return { type, data: { name, [`${kind}At`]: time, ...more } };
}

/** A UUID for each event of a row: its first one with a higher node (RFC 9562, the last 48 bits). */
function idOf(first: string, index: number): string {
  if (index === 0) return first;
  const node = (Number.parseInt(first.slice(-12), 16) + index) % 2 ** 48;
  return `${first.slice(0, -12)}${node.toString(16).padStart(12, '0')}`;
}
