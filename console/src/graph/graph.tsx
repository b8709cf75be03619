import type { JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { Empty } from '../parts/basics.tsx';
import { Status } from '../parts/status.tsx';
import { seenText } from '../texts.ts';
import type { Box, Drawing, Line } from './graph-geometry.ts';
import { layOut } from './graph-layout.ts';
import { boxText, type GraphState, type GraphTask, graphContent, shownTasks, type Way } from './graph-tasks.ts';
import { useGraphView } from './graph-view.ts';
import { GraphWords } from './graph-words.tsx';
import './graph.css';

export interface GraphProps {
  /** A document of a workflow as JSON, or a draft of one. */
  readonly document: unknown;
  /** By the `reference` of a task, as runs name it. Tasks without one have not begun. */
  readonly states?: ReadonlyMap<string, GraphState>;
  /** Called with the `reference` of a task that the person pressed. */
  readonly onOpen?: (reference: string) => void;
}

/** The tasks of a workflow drawn, with a text of the same for those who do not see it. */
export function Graph({ document, states, onOpen }: GraphProps): JSX.Element {
  const content = useMemo(() => graphContent(document), [document]);
  const hasStates = states !== undefined;
  const drawing = useMemo(() => layOut(content, { hasStates }), [content, hasStates]);
  const [selected, setSelected] = useState('');
  if (content.tasks.length === 0) return <Empty>No task to draw.</Empty>;
  const press = (reference: string): void => {
    setSelected(reference);
    onOpen?.(reference);
  };
  return (
    <div class="graph">
      <Paper drawing={drawing} states={states} selected={selected} press={press} />
      {content.isCut && <p class="note">The graph shows the first {shownTasks.toLocaleString('en')} tasks.</p>}
      <details>
        <summary>The steps in words</summary>
        <GraphWords of={content} states={states} />
      </details>
    </div>
  );
}

interface PaperProps {
  readonly drawing: Drawing;
  readonly states: GraphProps['states'];
  readonly selected: string;
  readonly press: (reference: string) => void;
}

function Paper({ drawing, states, selected, press }: PaperProps): JSX.Element {
  const view = useRef<HTMLDivElement>(null);
  const { scale, zoom, fit, keyDown } = useGraphView(view, drawing);
  const { width, height, boxes, lines } = drawing;
  const first = boxes.find(({ kind }) => kind === 'task')?.reference;
  const stop = boxes.some(({ kind, reference }) => kind === 'task' && reference === selected) ? selected : first;
  const page = { '--print-scale': String(Math.min(1, printedWidth / width)) };
  return (
    <>
      <div class="graph-tools">
        <button type="button" onClick={() => zoom(1.25)} aria-label="Zoom in">
          +
        </button>
        <button type="button" onClick={() => zoom(0.8)} aria-label="Zoom out">
          −
        </button>
        <button type="button" onClick={fit}>
          Fit
        </button>
        <button type="button" onClick={() => print()}>
          Print
        </button>
        <span class="soft">{Math.round(scale * 100)} %</span>
      </div>
      {/* biome-ignore lint/a11y: the keys move the focus among the buttons in it. */}
      <div class="graph-view" ref={view} role="group" aria-label="Tasks: arrow keys lead through them" onKeyDown={keyDown}>
        <div class="graph-paper" style={{ width: `${width * scale}px`, height: `${height * scale}px`, ...page }}>
          <div class="graph-sheet" style={{ width: `${width}px`, height: `${height}px`, transform: `scale(${scale})` }}>
            <Lines of={lines} width={width} height={height} />
            {boxes.map((box, at) =>
              box.kind === 'task' && box.task !== undefined ? (
                <TaskBox
                  key={box.reference}
                  box={box}
                  task={box.task}
                  state={states?.get(box.reference)}
                  hasStates={states !== undefined}
                  isSelected={selected === box.reference}
                  isStop={box.reference === stop}
                  press={press}
                />
              ) : (
                <div key={at} class={`graph-box of-${box.kind}`} style={placeOf(box)}>
                  {box.kind === 'catch' && <strong>catch</strong>}
                  {box.words.map((text, index) => (
                    <span key={index} title={text}>
                      {seenText(text)}
                    </span>
                  ))}
                </div>
              ),
            )}
          </div>
        </div>
      </div>
    </>
  );
}

/** Pixels of CSS between the margins of a page of A4. */
const printedWidth = 690;

interface TaskBoxProps {
  readonly box: Box;
  readonly task: GraphTask;
  readonly state: GraphState | undefined;
  readonly hasStates: boolean;
  readonly isSelected: boolean;
  readonly isStop: boolean;
  readonly press: (reference: string) => void;
}

function TaskBox({ box, task, state, hasStates, isSelected, isStop, press }: TaskBoxProps): JSX.Element {
  const { name, kind, words, ways, reference } = task;
  return (
    <button
      type="button"
      class={`graph-box of-task ${state === undefined ? '' : `is-${state.status}`}`}
      style={placeOf(box)}
      tabIndex={isStop ? 0 : -1}
      aria-pressed={isSelected}
      data-reference={reference}
      title={[name, ...words].map(seenText).join('\n')}
      onClick={() => press(reference)}
    >
      <span class="graph-name">
        <strong>{seenText(name)}</strong> <span class="kind">{kind}</span>
      </span>
      {words.map((text, index) => (
        <span key={index}>{seenText(boxText(text))}</span>
      ))}
      {hasStates && (
        <span>
          {state === undefined ? (
            <span class="none">not begun</span>
          ) : (
            <Status of={state.status} {...(state.label === undefined ? {} : { label: `${state.status} ${state.label}` })} />
          )}
        </span>
      )}
      {ways.map((way, index) => (
        <span key={index} class="graph-way">
          {seenText(way.label === '' ? wayText(way) : way.label)}
        </span>
      ))}
    </button>
  );
}

function wayText({ to }: Way): string {
  return typeof to === 'object' ? `then ${to.unknown}, which is not in this list` : 'then';
}

function placeOf({ left, top, width, height }: Box): Readonly<Record<string, string>> {
  return { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` };
}

function Lines({
  of,
  width,
  height,
}: {
  readonly of: readonly Line[];
  readonly width: number;
  readonly height: number;
}): JSX.Element {
  return (
    <svg class="graph-lines" width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      {of.map(({ kind, points, hasArrow }, at) => (
        <g key={at} class={kind}>
          <path class="way" d={roundedPath(points)} />
          {hasArrow && <path class="head" d={arrowHead(points)} />}
        </g>
      ))}
    </svg>
  );
}

type Point = Line['points'][number];

const radius = 6;

/** Straight parts with round corners. */
function roundedPath(points: readonly Point[]): string {
  const [first, ...rest] = points;
  const parts = rest.map((point, at) => {
    const next = rest[at + 1];
    const last = points[at];
    if (next === undefined || last === undefined) return `L${point[0]} ${point[1]}`;
    const before = towards(point, last);
    const after = towards(point, next);
    return `L${before[0]} ${before[1]}Q${point[0]} ${point[1]} ${after[0]} ${after[1]}`;
  });
  return `M${first?.[0]} ${first?.[1]}${parts.join('')}`;
}

function towards([x, y]: Point, [otherX, otherY]: Point): Point {
  const length = Math.hypot(otherX - x, otherY - y);
  const share = length === 0 ? 0 : Math.min(radius, length / 2) / length;
  return [x + (otherX - x) * share, y + (otherY - y) * share];
}

function arrowHead(points: readonly Point[]): string {
  const end = points.at(-1) ?? [0, 0];
  const before = points.findLast(([x, y]) => x !== end[0] || y !== end[1]) ?? end;
  const length = Math.hypot(end[0] - before[0], end[1] - before[1]) || 1;
  const [x, y] = [((end[0] - before[0]) / length) * 7, ((end[1] - before[1]) / length) * 7];
  return `M${end[0]} ${end[1]}L${end[0] - x - y / 2} ${end[1] - y + x / 2}L${end[0] - x + y / 2} ${end[1] - y - x / 2}Z`;
}
