import { setTimeout as sleep } from 'node:timers/promises';
import { isPassingRefusal } from '#base/passing-refusal.ts';
import { shortWait } from '../tasks/call-entrance.ts';

/** Tries until the store takes it. Undefined once it is over while the store is away. */
export async function untilStored<T>(write: () => Promise<T>, isOver: () => boolean): Promise<T | undefined> {
  for (let delay = 50; ; delay = Math.min(delay * 2, shortWait)) {
    try {
      return await write();
    } catch (error) {
      // The store is away, as its own log says.
      if (!isPassingRefusal(error)) throw error;
      if (isOver()) return undefined;
      await sleep(delay);
    }
  }
}
