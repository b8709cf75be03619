import type { JSX } from 'preact';
import { seenText } from '../texts.ts';
import type { GraphContent, GraphState, GraphTask, Part, Way } from './graph-tasks.ts';

interface GraphWordsProps {
  readonly of: GraphContent;
  readonly states: ReadonlyMap<string, GraphState> | undefined;
}

/** The same as the drawing, as nested lists. */
export function GraphWords({ of: { tasks, functions }, states }: GraphWordsProps): JSX.Element {
  return (
    <div class="graph-words">
      <Tasks of={tasks} states={states} />
      {functions.map((task) => (
        <div key={task.name}>
          <p>Function {seenText(task.name)}:</p>
          <Tasks of={[task]} states={states} />
        </div>
      ))}
    </div>
  );
}

interface TasksProps {
  readonly of: readonly GraphTask[];
  readonly states: GraphWordsProps['states'];
}

function Tasks({ of, states }: TasksProps): JSX.Element {
  return (
    <ol>
      {of.map((task) => (
        <li key={task.reference}>
          <strong>{seenText(task.name)}</strong> {seenText(sentence(task, of, states?.get(task.reference)))}
          {task.parts.map((part) => (
            <div key={part.kind}>
              {seenText(partText(part))}
              {part.tasks.length > 0 && <Tasks of={part.tasks} states={states} />}
            </div>
          ))}
        </li>
      ))}
    </ol>
  );
}

function sentence({ kind, words, ways }: GraphTask, list: readonly GraphTask[], state: GraphState | undefined): string {
  const outcome = state === undefined ? '' : ` (${[state.status, state.label].filter((text) => text !== undefined).join(' ')})`;
  const doing = [kind, words.join(', ')].filter((text) => text !== '').join(': ');
  const leading = ways.map((way) => ` ${way.label === '' ? 'Then' : `${way.label}, then`} ${targetText(way, list)}.`).join('');
  return `${doing}${outcome}.${leading}`;
}

function targetText({ to }: Way, list: readonly GraphTask[]): string {
  if (typeof to === 'number') return list[to]?.name ?? 'the next task';
  if (typeof to === 'object') return `${to.unknown}, which is not in this list`;
  return { next: 'the next task', exit: 'the end of this list', end: 'the end of the workflow' }[to];
}

function partText({ kind, words, tasks }: Part): string {
  if (kind === 'catch') return `It catches ${words.join(', ')}${tasks.length > 0 ? ', and does:' : '.'}`;
  return kind === 'branches' ? 'Branches:' : `In it${words.length === 0 ? '' : `, ${words.join(', ')}`}:`;
}
