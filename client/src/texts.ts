import type { ItemCounts } from './generated/types.gen.ts';

/** A duration for people, as the command line and the console show it: `12 ms`, `1.2 s`, `3 min 20 s`, `2 h 05 min`. */
export function durationText(milliseconds: number): string {
  const time = Math.max(0, milliseconds);
  if (time < 1_000) return `${Math.round(time)} ms`;
  if (time < 60_000) return `${(time / 1_000).toFixed(1)} s`;
  const seconds = Math.round(time / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${String(Math.floor((seconds % 3_600) / 60)).padStart(2, '0')} min`;
}

/** What became of the items of batches: `43 of 50 completed, 7 failed`. */
export function itemsText({ total, completed, failed, unknown, cancelled, notStarted }: ItemCounts): string {
  const underWay = total - completed - failed - unknown - cancelled - notStarted;
  const others = Object.entries({ failed, unknown, cancelled, 'under way': underWay, 'not started': notStarted });
  const counts = others.flatMap(([name, count]) => (count === 0 ? [] : [`${count} ${name}`]));
  return [`${completed} of ${total} completed`, ...counts].join(', ');
}
