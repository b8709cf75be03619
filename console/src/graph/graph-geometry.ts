import type { GraphTask, Way } from './graph-tasks.ts';

/** A rectangle of the drawing, in pixels. */
export interface Box {
  /** `part`: what is inside a task; `stop`: the end of a list or of the workflow. */
  readonly kind: 'task' | 'catch' | 'part' | 'stop' | 'start' | 'title';
  readonly reference: string;
  readonly task?: GraphTask;
  /** The lines in it. */
  readonly words: readonly string[];
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** `jump`: by `then`; `error`: to a `catch`; `again`: a loop or a retry. */
export interface Line {
  readonly kind: 'next' | 'jump' | 'error' | 'again';
  readonly points: readonly Point[];
  readonly hasArrow: boolean;
}

export type Point = readonly [x: number, y: number];

export interface Drawing {
  readonly width: number;
  readonly height: number;
  /** Of the axis of the first list. */
  readonly axis: number;
  /** In the order of the document. */
  readonly boxes: readonly Box[];
  readonly lines: readonly Line[];
}

export interface Sink {
  readonly boxes: Box[];
  readonly lines: Line[];
}

/** Something with an axis, on which ways arrive at its top and leave at its bottom. */
export interface Block {
  readonly left: number;
  readonly right: number;
  readonly height: number;
  readonly draw: (x: number, y: number, sink: Sink) => void;
}

/** Room for the state of a run in each box. */
export interface Options {
  readonly hasStates: boolean;
}

export const width = 270;
export const padding = 8;
export const nameHeight = 20;
export const lineHeight = 17;
export const gap = 28;
export const lane = 13;
export const inset = 16;
export const stop = { width: 42, height: 16, gap: 16 };
export const margin = 12;

export interface Jump {
  readonly from: number;
  readonly way: number;
  readonly to: number;
}

/** A way to the next task needs no lane if the line to it is all that leaves. */
export function isNext(to: number, from: number, ways: readonly Way[]): boolean {
  return to === from + 1 && ways.length === 1;
}

/** How far right of the axis each jump turns: past the boxes that it passes, the shortest jumps the nearest. */
export function turnsOf(jumps: readonly Jump[], blocks: readonly Block[]): readonly number[] {
  const placed: { readonly top: number; readonly bottom: number; readonly turn: number }[] = [];
  const turns = jumps.map(() => 0);
  const order = jumps.map((_, index) => index).sort((a, b) => span(jumps[a]) - span(jumps[b]));
  for (const index of order) {
    const { from = 0, to = 0 } = jumps[index] ?? {};
    const [top, bottom] = [Math.min(from, to), Math.max(from, to)];
    const passed = blocks.slice(top, bottom + 1).map((block) => block.right);
    let turn = Math.max(...passed) + lane;
    const near = placed.filter((other) => other.top <= bottom && top <= other.bottom).map((other) => other.turn);
    for (const other of near.sort((a, b) => a - b)) if (Math.abs(other - turn) < lane) turn = other + lane;
    placed.push({ top, bottom, turn });
    turns[index] = turn;
  }
  return turns;
}

function span(jump: Jump | undefined): number {
  return jump === undefined ? 0 : Math.abs(jump.to - jump.from);
}

/** The ways of a task that lead to the end of its list or of the workflow. */
export function stopsOf({ ways }: GraphTask): readonly (readonly [way: number, word: string])[] {
  return ways.flatMap(({ to }, way) => (to === 'end' || to === 'exit' ? [[way, to === 'end' ? 'End' : 'Exit'] as const] : []));
}

/** A task with others in it is as wide as its block, without the stops at its right. */
export function boxRight({ task, block }: { readonly task: GraphTask; readonly block: Block }): number {
  return block.right - stopRoom(task);
}

export function stopRoom(task: GraphTask): number {
  return stopsOf(task).length === 0 ? 0 : stop.gap + stop.width;
}

/** Of the head: its name, what it does, its state, its ways. */
export function headHeight({ words, ways }: GraphTask, { hasStates }: Options): number {
  return 2 * padding + nameHeight + lineHeight * (words.length + ways.length + (hasStates ? 1 : 0));
}

export function wayMiddle({ words }: GraphTask, way: number, { hasStates }: Options): number {
  return padding + nameHeight + lineHeight * (words.length + (hasStates ? 1 : 0) + way + 0.5);
}

/** From the end of a turn back to the head, along the left side. */
export function loop(left: number, y: number, height: number, head: number, x: number): Line {
  const bottom = y + height - inset / 2;
  const points: Point[] = [
    [x, bottom],
    [left + inset / 2, bottom],
    [left + inset / 2, y + head],
  ];
  return { kind: 'again', points, hasArrow: true };
}

export function retryLine(axis: number, y: number, x: number): Line {
  const points: Point[] = [
    [axis, y],
    [axis, y - gap / 2],
    [x + inset, y - gap / 2],
    [x + inset, y],
  ];
  return { kind: 'again', points, hasArrow: true };
}

export function straight(x: number, from: number, to: number): Line {
  return {
    kind: 'next',
    points: [
      [x, from],
      [x, to],
    ],
    hasArrow: true,
  };
}
