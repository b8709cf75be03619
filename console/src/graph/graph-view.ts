import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Drawing } from './graph-geometry.ts';

const smallest = 0.2;
const largest = 2;
/** Below this a text cannot be read: a large drawing begins with it, and scrolls. */
const readable = 0.7;

interface GraphView {
  readonly scale: number;
  readonly zoom: (factor: number) => void;
  /** Shows all of the drawing. */
  readonly fit: () => void;
  readonly keyDown: (event: KeyboardEvent) => void;
}

/** How large the drawing is, and which part of it shows: by buttons, wheel, keys, and by pulling it with a mouse. */
export function useGraphView(
  view: RefObject<HTMLDivElement | null>,
  { width, height, axis }: Pick<Drawing, 'width' | 'height' | 'axis'>,
): GraphView {
  const [scale, setScale] = useState(1);
  const chosen = useRef(false);
  useLayoutEffect(() => {
    const element = view.current;
    if (element === null || chosen.current) return;
    setScale(Math.max(readable, Math.min(1, element.clientWidth / width)));
  }, [width]);
  useLayoutEffect(() => {
    const element = view.current;
    if (element !== null && !chosen.current) element.scrollLeft = axis * scale - element.clientWidth / 2;
  }, [axis, scale]);
  const zoom = (factor: number): void => {
    chosen.current = true;
    setScale((last) => Math.min(largest, Math.max(smallest, last * factor)));
  };
  const latest = useRef(zoom);
  latest.current = zoom;
  useEffect(() => (view.current === null ? undefined : follow(view.current, (factor) => latest.current(factor))), []);
  const fit = (): void => {
    const element = view.current;
    chosen.current = true;
    if (element !== null) setScale(Math.max(smallest, Math.min(1, element.clientWidth / width, element.clientHeight / height)));
  };
  const keyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === '+') zoom(1.25);
    else if (event.key === '-') zoom(0.8);
    else if (event.key === '0') fit();
    else moveFocus(event);
  };
  return { scale, zoom, fit, keyDown };
}

/** A wheel with Ctrl zooms; a mouse that is pressed and moved pulls the drawing. Fingers scroll it, as the browser does. */
function follow(view: HTMLDivElement, zoom: (factor: number) => void): () => void {
  let pulled: { readonly x: number; readonly y: number } | undefined;
  let hasMoved = false;
  const wheel = (event: WheelEvent): void => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.1 : 0.9);
  };
  const down = (event: PointerEvent): void => {
    if (event.button !== 0 || event.pointerType === 'touch') return;
    pulled = { x: event.clientX + view.scrollLeft, y: event.clientY + view.scrollTop };
    hasMoved = false;
  };
  const move = (event: PointerEvent): void => {
    if (pulled === undefined) return;
    const [x, y] = [pulled.x - event.clientX, pulled.y - event.clientY];
    hasMoved ||= Math.abs(x - view.scrollLeft) + Math.abs(y - view.scrollTop) > 4;
    if (hasMoved) view.scrollTo(x, y);
  };
  const up = (): void => {
    pulled = undefined;
  };
  /** The end of a pull is no press of the task below it. */
  const click = (event: MouseEvent): void => {
    if (hasMoved && event.detail > 0) event.stopPropagation();
    hasMoved = false;
  };
  const leave = new AbortController();
  const { signal } = leave;
  view.addEventListener('wheel', wheel, { passive: false, signal });
  view.addEventListener('pointerdown', down, { signal });
  addEventListener('pointermove', move, { signal });
  addEventListener('pointerup', up, { signal });
  view.addEventListener('click', click, { capture: true, signal });
  return () => leave.abort();
}

/** The arrows lead through the tasks in the order of the document: one stop for Tab, however many there are. */
function moveFocus(event: KeyboardEvent): void {
  const { currentTarget, target, key } = event;
  if (!(currentTarget instanceof HTMLElement) || !(target instanceof HTMLElement)) return;
  const tasks = [...currentTarget.querySelectorAll<HTMLElement>('button')];
  const index = tasks.indexOf(target);
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: index + 1,
    ArrowRight: index + 1,
    ArrowUp: index - 1,
    ArrowLeft: index - 1,
    Home: 0,
    End: tasks.length - 1,
  };
  const next = steps[key];
  if (next === undefined || index < 0) return;
  event.preventDefault();
  tasks[next]?.focus();
}
