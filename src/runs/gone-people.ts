import type { RunPeople } from './run-people.ts';
import type { RunStore } from './run-store.ts';

/** Commands of one transaction. */
const toldAtOnce = 500;

/**
 * Tells each run that calls in the name of a principal that was removed or blocked. The holder of the run then suspends it. A run that waits
 * for a day would otherwise learn of it after that day. Rejects with `store-unavailable`.
 */
export async function tellRunsOfGonePeople(
  store: Pick<RunStore, 'callingPrincipals' | 'callingRuns' | 'changeWith'>,
  { whyGone }: Pick<RunPeople, 'whyGone'>,
): Promise<void> {
  for (const principal of await store.callingPrincipals()) {
    if (whyGone(principal) === undefined) continue;
    const runs = await store.callingRuns(principal.id);
    for (let start = 0; start < runs.length; start += toldAtOnce) {
      const told = runs.slice(start, start + toldAtOnce);
      const commands = told.map((run) => ({ run, command: { kind: 'people-changed' as const } }));
      await store.changeWith(async () => ({ result: undefined, commands }));
    }
  }
}
