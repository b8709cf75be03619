let waiting: (() => void)[] = [];

/**
 * Does `work`, which throws nothing, once everything that this turn of the event loop brought has been seen to; in the order in which it
 * came. What is written to many sockets one right behind the other finds its readers awake: waking a sleeping one for each reply of its
 * own costs more than all the rest of the writing.
 */
export function atEndOfTurn(work: () => void): void {
  if (waiting.length === 0) setImmediate(doAll);
  waiting.push(work);
}

function doAll(): void {
  const all = waiting;
  waiting = [];
  for (const work of all) work();
}
