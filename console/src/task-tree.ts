import type { RunTask } from '#client/gateway.ts';

/** A task of a run, with those that it began. */
export interface TaskNode {
  readonly task: RunTask;
  /** Those that belong to no turn of it, in the order of their begin. */
  readonly parts: readonly TaskNode[];
  /** Of a loop: its turns in their order. */
  readonly turns: readonly Turn[];
}

/** One turn of a loop. */
export interface Turn {
  /** From 0. */
  readonly number: number;
  /** The value of `each`. */
  readonly label: string | undefined;
  readonly nodes: readonly TaskNode[];
}

interface Begun {
  readonly task: RunTask;
  readonly inside: Begun[];
}

/** The tasks of a run, each below the one that it is in. `tasks`: in the order of their begin. */
export function treeOf(tasks: readonly RunTask[]): readonly TaskNode[] {
  const roots: Begun[] = [];
  const latest = new Map<string, Begun>();
  for (const task of tasks) {
    const begun: Begun = { task, inside: [] };
    (aroundOf(task.reference, latest)?.inside ?? roots).push(begun);
    latest.set(task.reference, begun);
  }
  return roots.map(nodeOf);
}

/** The task that holds this one: the newest whose reference begins this one's. */
function aroundOf(reference: string, latest: ReadonlyMap<string, Begun>): Begun | undefined {
  for (let end = reference.lastIndexOf('/'); end > 0; end = reference.lastIndexOf('/', end - 1)) {
    const around = latest.get(reference.slice(0, end));
    if (around !== undefined) return around;
  }
  return undefined;
}

function nodeOf({ task, inside }: Begun): TaskNode {
  const nodes = inside.map(nodeOf);
  // Tasks inside a turn have its number, so other numbers are those of turns of this task.
  const isLoop = nodes.some(({ task: { iteration } }) => iteration !== undefined && iteration !== task.iteration);
  return isLoop ? { task, parts: [], turns: turnsOf(nodes) } : { task, parts: nodes, turns: [] };
}

function turnsOf(nodes: readonly TaskNode[]): readonly Turn[] {
  const turns = new Map<number, TaskNode[]>();
  for (const node of nodes) {
    const { iteration = 0 } = node.task;
    const turn = turns.get(iteration);
    if (turn === undefined) turns.set(iteration, [node]);
    else turn.push(node);
  }
  return [...turns].map(([number, list]) => ({ number, label: list.find(({ task }) => task.label)?.task.label, nodes: list }));
}

/** Those of which a task, or one inside it, is wanted. */
export function onlyWanted(nodes: readonly TaskNode[], isWanted: (task: RunTask) => boolean): readonly TaskNode[] {
  return nodes.flatMap((node) => {
    const parts = onlyWanted(node.parts, isWanted);
    const turns = node.turns.flatMap((turn) => {
      const inside = onlyWanted(turn.nodes, isWanted);
      return inside.length === 0 ? [] : [{ ...turn, nodes: inside }];
    });
    if (parts.length > 0 || turns.length > 0) return [{ task: node.task, parts, turns }];
    return isWanted(node.task) ? [node] : [];
  });
}

const worst = ['faulted', 'suspended', 'running', 'pending', 'cancelled', 'completed', 'skipped'] as const;

/** The state of a turn: the most urgent one of its tasks. A failed attempt that was made again successfully is none. */
export function turnStatus({ nodes }: Turn): RunTask['status'] {
  const last = new Map(nodes.map(({ task }) => [task.reference, task.status]));
  const states = new Set(last.values());
  return worst.find((state) => states.has(state)) ?? 'completed';
}

/** How many turns are in each state: `48 completed, 2 faulted`. */
export function turnCounts(turns: readonly Turn[]): string {
  const counts = new Map<string, number>();
  for (const turn of turns) counts.set(turnStatus(turn), (counts.get(turnStatus(turn)) ?? 0) + 1);
  return worst.flatMap((state) => (counts.has(state) ? [`${counts.get(state)} ${state}`] : [])).join(', ');
}

const unknownOutcome = 'urn:orchestration-gateway:errors:outcome-unknown';

/** Whether people must decide what happened: until then the gateway refuses to resume the run. */
export function isUndecided({ status, error }: RunTask): boolean {
  return status === 'suspended' && error?.type === unknownOutcome;
}

/** Whether a task failed, waits for people, or has items that did. */
export function isInTrouble({ status, items }: RunTask): boolean {
  return status === 'faulted' || status === 'suspended' || (items !== undefined && items.failed + items.unknown > 0);
}

/** Whether a text is in the name, the label or the error of a task. */
export function hasText({ name, label = '', error }: RunTask, text: string): boolean {
  const all = [name, label, error?.type ?? '', error?.title ?? '', error?.detail ?? ''];
  const wanted = text.toLowerCase();
  return all.some((part) => part.toLowerCase().includes(wanted));
}

/** The state of a task of the document: the most urgent one of its turns, of each the last attempt. */
interface ReferenceState {
  readonly status: RunTask['status'];
  readonly label?: string;
}

/** By reference, as a graph of the workflow shows them. */
export function graphStatesOf(tasks: readonly RunTask[]): ReadonlyMap<string, ReferenceState> {
  const turns = new Map<string, Map<number, RunTask>>();
  for (const task of tasks) {
    const known = turns.get(task.reference) ?? new Map<number, RunTask>();
    turns.set(task.reference, known.set(task.iteration ?? 0, task));
  }
  return new Map([...turns].map(([reference, last]) => [reference, stateOf([...last.values()])]));
}

function stateOf(last: readonly RunTask[]): ReferenceState {
  const states = new Set(last.map(({ status }) => status));
  const status = worst.find((state) => states.has(state)) ?? 'completed';
  const [{ items } = {}] = last;
  if (items !== undefined) return { status, label: `${items.completed} of ${items.total}` };
  if (last.length === 1) return { status };
  return { status, label: `${last.filter((task) => task.status === 'completed').length} of ${last.length}` };
}
