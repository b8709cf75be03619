/** One list for the process, as there is one event loop. */
let waiting: (() => void)[] = [];

/**
 * Runs `work` in the check phase of this iteration of the event loop, which is after all events of the iteration. Works run in the order
 * of the calls, and must not throw. The same work for many calls in a row finds its code in the processor's caches. Writes in a row
 * find their readers awake: to wake a reader for each reply costs more than the rest of the write (decision 0017).
 */
export function inCheckPhase(work: () => void): void {
  if (waiting.length === 0) setImmediate(runAll);
  waiting.push(work);
}

function runAll(): void {
  const all = waiting;
  waiting = [];
  for (const work of all) work();
}
