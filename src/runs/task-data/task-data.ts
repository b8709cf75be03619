import type { LimitReached } from '#base/limits.ts';
import { firstBytes } from '#base/text/cut-text.ts';
import { JsonValue } from '../interpreter/state/json-value.ts';
import type { TaskNote } from '../interpreter/state/run-events.ts';
import type { NewTaskData, TaskParts, TaskRecord } from '../journal/run-records.ts';

/** Bytes of one part. */
const maxPart = 64 * 1024;
/** Bytes of all parts of a run. */
const maxRunData = 64 * 1024 ** 2;
/** Characters. */
const maxLabel = 80;

/** At the beginning of a part that was cut: no JSON text begins with it. */
const cutMark = '…';

/** Gathers what the tasks of a run get and give, for those who may see it. */
export interface TaskDataKeeper {
  /** Bytes so far. Beyond `maxRunData`, nothing more is kept. */
  readonly bytes: number;
  /** A JSON text as readers see it. */
  readonly shown: (jsonText: string) => string;
  /** What the row of the task has of it. */
  note(note: TaskNote): Pick<TaskRecord, 'label' | 'noData'>;
  /** The task calls with these arguments, a JSON text. */
  called(activity: number, args: JsonValue): void;
  forget(activity: number): void;
  /** The rows with what the store does not have of their data. */
  take(tasks: readonly TaskRecord[]): { readonly tasks: readonly TaskRecord[]; readonly data: readonly NewTaskData[] };
}

interface KeeperOptions {
  /** False: the configuration says that nothing is kept. */
  readonly keeps: () => boolean;
  readonly shown: TaskDataKeeper['shown'];
  readonly limitReached: LimitReached;
  /** What was kept before this gateway took the run over. */
  readonly bytes: number;
}

type PartName = keyof TaskParts;
type Parts = { readonly [K in PartName]?: JsonValue };

interface Gathered {
  readonly parts: Parts;
  readonly stored: Parts;
  readonly hasEnded: boolean;
}

const ends: ReadonlySet<TaskNote['kind']> = new Set(['skipped', 'cancelled', 'faulted', 'completed']);
const partNames = ['input', 'arguments', 'output'] as const satisfies readonly PartName[];

/** A task that an earlier holder began has no notes here until its next one. Only what is written is masked and cut, and each value once. */
export function createTaskDataKeeper({ keeps, shown, limitReached, bytes: before }: KeeperOptions): TaskDataKeeper {
  let bytes = before;
  const gathered = new Map<number, Gathered>();
  const written = createWrittenTexts(shown);
  const add = (activity: number, parts: Parts, hasEnded = false): void => {
    const known = gathered.get(activity);
    gathered.set(activity, { parts: { ...known?.parts, ...parts }, stored: known?.stored ?? {}, hasEnded });
  };
  const take = (activity: number): TaskParts | undefined => {
    const found = gathered.get(activity);
    if (found === undefined) return undefined;
    const { parts, stored, hasEnded } = found;
    if (hasEnded) gathered.delete(activity);
    else gathered.set(activity, { parts, stored: parts, hasEnded });
    const changed = partNames.flatMap((name) => {
      const value = parts[name];
      return value === undefined || value === stored[name] ? [] : [[name, written.textOf(value)] as const];
    });
    return Object.fromEntries(changed);
  };
  return {
    get bytes() {
      return bytes;
    },
    shown,
    note({ activity, data, output, kind }) {
      if (data === undefined || !keeps()) {
        gathered.delete(activity);
        return { noData: 'off' };
      }
      add(activity, { input: data.input, ...(output && { output }) }, ends.has(kind));
      return { label: data.label && labelOf(shown(data.label())) };
    },
    called: (activity, args) => add(activity, { arguments: args.text.length > maxPart ? written.cutNow(args) : args }),
    forget: (activity) => void gathered.delete(activity),
    take(tasks) {
      const data: NewTaskData[] = [];
      const rows = tasks.map((task) => {
        if (task.noData === 'off') gathered.delete(task.activity);
        const parts = take(task.activity);
        if (parts === undefined) return task;
        bytes += sizeOfParts(parts);
        if (bytes > maxRunData) {
          limitReached('task-data');
          return { ...task, noData: 'limit' as const };
        }
        data.push({ activity: task.activity, ...parts });
        return task;
      });
      return { tasks: rows, data };
    },
  };
}

/** What is written of each value, computed once. */
function createWrittenTexts(shown: TaskDataKeeper['shown']) {
  const texts = new WeakMap<JsonValue, string>();
  return {
    textOf(value: JsonValue): string {
      const known = texts.get(value);
      const text = known ?? cutPart(shown(value.text));
      if (known === undefined) texts.set(value, text);
      return text;
    },
    /** A stand-in for a long value. A batch has its items for as long as it takes: only what is written stays in memory. */
    cutNow(value: JsonValue): JsonValue {
      const kept = new JsonValue('null');
      texts.set(kept, cutPart(shown(value.text)));
      return kept;
    },
  };
}

/** UTF-8. */
export function sizeOfParts(parts: TaskParts): number {
  return partNames.reduce((sum, name) => sum + Buffer.byteLength(parts[name] ?? ''), 0);
}

function cutPart(text: string): string {
  const cut = firstBytes(text, maxPart);
  return cut.length === text.length ? text : `${cutMark}${cut}`;
}

/** The part as its readers see it, and whether it was cut. */
export function readPart(stored: string): { readonly text: string; readonly isCut: boolean } {
  const isCut = stored.startsWith(cutMark);
  return { text: isCut ? stored.slice(cutMark.length) : stored, isCut };
}

/** A string without its quotes, any other value as JSON. */
function labelOf(jsonText: string): string {
  const text = jsonText.startsWith('"') ? (JSON.parse(jsonText) as string) : jsonText;
  if (text.length <= maxLabel) return text;
  return Array.from(text.slice(0, 2 * maxLabel))
    .slice(0, maxLabel)
    .join('');
}
