let waiting: (() => void)[] = [];

/**
 * Does `work`, which throws nothing, once everything that this turn of the event loop brought has been seen to; in the order in which it
 * came. The same work done for many calls one right behind the other finds its code in the processor's caches, and what is written to many
 * sockets its readers awake: waking a sleeping one for each reply costs more than all the rest of the writing.
 */
export function inCheckPhase(work: () => void): void {
  if (waiting.length === 0) setImmediate(doAll);
  waiting.push(work);
}

function doAll(): void {
  const all = waiting;
  waiting = [];
  for (const work of all) work();
}
