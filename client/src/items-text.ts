import type { ItemCounts } from './generated/types.gen.ts';

/** What became of the items of batches: `43 of 50 completed, 7 failed`. */
export function itemsText({ total, completed, failed, unknown, cancelled, notStarted }: ItemCounts): string {
  const underWay = total - completed - failed - unknown - cancelled - notStarted;
  const others = Object.entries({ failed, unknown, cancelled, 'under way': underWay, 'not started': notStarted });
  const counts = others.flatMap(([name, count]) => (count === 0 ? [] : [`${count} ${name}`]));
  return [`${completed} of ${total} completed`, ...counts].join(', ');
}
