import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Run, RunTask } from '#client/gateway.ts';
import { goTo, hrefOf, place } from '../address.ts';
import { Empty, Panel } from '../parts/basics.tsx';
import { Status } from '../parts/status.tsx';
import {
  hasText,
  isInTrouble,
  isUndecided,
  onlyWanted,
  type TaskNode,
  type Turn,
  treeOf,
  turnCounts,
  turnStatus,
} from '../task-tree.ts';
import { seenText } from '../texts.ts';
import { BatchItems } from './batch-items.tsx';
import { UnknownOutcome } from './decision.tsx';
import { TaskCalls } from './task-calls.tsx';
import { TaskDataPart } from './task-data.tsx';
import { type Span, TaskRow, TimeBar } from './task-row.tsx';

interface TimelineProps {
  readonly run: Run;
  readonly tasks: readonly RunTask[];
  readonly decided: () => void;
  /** What the page says about tasks that it does not show. */
  readonly note?: ComponentChildren;
}

/** What all rows of a timeline need. */
interface Shown {
  readonly run: string;
  readonly span: Span;
  readonly decided: () => void;
  /** A filter is on: loops are open. */
  readonly isFiltered: boolean;
}

/** The tasks of a run, each with a bar for when it was under way. Loops are folded; what failed in them shows all the same. */
export function Timeline({ run, tasks, decided, note }: TimelineProps): JSX.Element {
  const { query } = place.value;
  const text = query.get('find') ?? '';
  const isFailedOnly = query.get('tasks') === 'failed';
  const begin = Date.parse(run.startedAt ?? run.createdAt);
  const end = run.endedAt === undefined ? Date.now() : Date.parse(run.endedAt);
  const isFiltered = text !== '' || isFailedOnly;
  const tree = treeOf(tasks);
  const isWanted = (task: RunTask): boolean => (!isFailedOnly || isInTrouble(task)) && (text === '' || hasText(task, text));
  const nodes = isFiltered ? onlyWanted(tree, isWanted) : tree;
  const shown = { run: run.id, span: { begin, length: Math.max(1, end - begin) }, decided, isFiltered };
  return (
    <Panel title="Timeline" aside={<TaskFilter text={text} isFailedOnly={isFailedOnly} />}>
      {nodes.length === 0 ? (
        <Empty>{isFiltered ? 'No task fits.' : 'No task has begun.'}</Empty>
      ) : (
        <Nodes of={nodes} shown={shown} />
      )}
      {note}
    </Panel>
  );
}

function TaskFilter({ text, isFailedOnly }: { readonly text: string; readonly isFailedOnly: boolean }): JSX.Element {
  const { segments, query } = place.value;
  const show = (given: Readonly<Record<string, string>>): void =>
    goTo(hrefOf(segments, { ...Object.fromEntries(query), ...given }), { replace: true });
  return (
    <search class="task-filter">
      <label class="choice">
        <input
          type="checkbox"
          checked={isFailedOnly}
          onChange={(event) => show({ tasks: event.currentTarget.checked ? 'failed' : '' })}
        />
        Failed only
      </label>
      <input
        type="search"
        aria-label="Find a task by name, label or error"
        placeholder="Find a task"
        value={text}
        onInput={(event) => show({ find: event.currentTarget.value })}
      />
    </search>
  );
}

/** Entries of a list that the page shows at first, and further with each press. */
const step = 100;

interface CappedProps<Entry> {
  readonly of: readonly Entry[];
  readonly children: (entry: Entry) => JSX.Element;
  readonly what: string;
}

/** A list of which a page holds a part: so a run of 20,000 tasks stays quick. */
function Capped<Entry>({ of, children, what }: CappedProps<Entry>): JSX.Element {
  const [count, setCount] = useState(step);
  return (
    <>
      <ol class="timeline">{of.slice(0, count).map(children)}</ol>
      {of.length > count && (
        <p>
          <button type="button" onClick={() => setCount(count + step)}>
            Show {Math.min(step, of.length - count)} more of {of.length.toLocaleString('en')} {what}
          </button>
        </p>
      )}
    </>
  );
}

function Nodes({ of, shown }: { readonly of: readonly TaskNode[]; readonly shown: Shown }): JSX.Element {
  return (
    <Capped of={of} what="tasks">
      {(node) => <Node key={node.task.id} node={node} shown={shown} />}
    </Capped>
  );
}

function Node({ node: { task, parts, turns }, shown }: { readonly node: TaskNode; readonly shown: Shown }): JSX.Element {
  const { run, span, decided } = shown;
  const isLeaf = parts.length === 0 && turns.length === 0;
  return (
    <li class={isUndecided(task) ? 'undecided' : undefined}>
      <TaskRow task={task} span={span} />
      <div class="task-parts">
        {mayHaveCalls(task, isLeaf) && !isUndecided(task) && <TaskCalls run={run} task={task} />}
        <TaskDataPart run={run} task={task} />
      </div>
      {task.items !== undefined && <BatchItems run={run} task={task} items={task.items} decided={decided} />}
      {isUndecided(task) && <UnknownOutcome run={run} task={task} decided={decided} />}
      {parts.length > 0 && <Nodes of={parts} shown={shown} />}
      {turns.length > 0 && <Turns of={turns} shown={shown} />}
    </li>
  );
}

/** A call that is in flight has no request id yet, and one that was cut off may never get one. */
function mayHaveCalls({ requestId, status, items }: RunTask, isLeaf: boolean): boolean {
  if (items !== undefined) return false;
  if (requestId !== undefined) return true;
  return isLeaf && ['running', 'suspended', 'faulted', 'cancelled'].includes(status);
}

/** Loops of more turns are folded. */
const openTurns = 5;
/** Turns in trouble that a folded loop shows. */
const troubled = 20;

function Turns({ of, shown }: { readonly of: readonly Turn[]; readonly shown: Shown }): JSX.Element {
  const [chosen, setOpen] = useState<boolean | undefined>(undefined);
  const isOpen = chosen ?? (shown.isFiltered || of.length <= openTurns);
  const inTrouble = of.filter((turn) => turnStatus(turn) !== 'completed');
  const visible = isOpen ? of : inTrouble.slice(0, troubled);
  return (
    <div class="turns">
      <p>
        <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? '▾' : '▸'} {of.length.toLocaleString('en')} {of.length === 1 ? 'turn' : 'turns'}: {turnCounts(of)}
        </button>
      </p>
      {visible.length > 0 && (
        <Capped of={visible} what="turns">
          {(turn) => <TurnRow key={turn.number} turn={turn} shown={shown} />}
        </Capped>
      )}
      {!isOpen && inTrouble.length > troubled && (
        <p class="note">
          The first {troubled} of {inTrouble.length} turns that are not completed.
        </p>
      )}
    </div>
  );
}

function TurnRow({ turn, shown }: { readonly turn: Turn; readonly shown: Shown }): JSX.Element {
  const status = turnStatus(turn);
  const [chosen, setOpen] = useState<boolean | undefined>(undefined);
  const isOpen = chosen ?? (shown.isFiltered || status === 'faulted' || status === 'suspended');
  const [first, last] = [turn.nodes[0]?.task, turn.nodes.at(-1)?.task];
  return (
    <li>
      <div class="task">
        <Status of={status} />
        <button type="button" class="turn task-name" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? '▾' : '▸'} <span class="soft">[{turn.number}]</span> {seenText(turn.label ?? '')}
        </button>
        {first !== undefined && <TimeBar span={shown.span} begin={first.begin} end={last?.end} status={status} />}
      </div>
      {isOpen && <Nodes of={turn.nodes} shown={shown} />}
    </li>
  );
}
