import { setTimeout as delay } from 'node:timers/promises';

export interface PacedFigures {
  /** Milliseconds from the time that a call was due, in ascending order. */
  readonly latencies: readonly number[];
  /** Number of replies by status. */
  readonly statuses: ReadonlyMap<number, number>;
}

interface Pace {
  readonly seconds: number;
  /** Calls a second. Each is made when it is due, even while earlier calls are in flight. */
  readonly perSecond: number;
}

/** Makes calls at a rate for the given time, and waits for their replies. `call` answers the status. */
export async function pacedLoad(call: () => Promise<number>, { seconds, perSecond }: Pace): Promise<PacedFigures> {
  const started = performance.now();
  const latencies: number[] = [];
  const statuses = new Map<number, number>();
  const underway: Promise<void>[] = [];
  for (let count = 0; count < seconds * perSecond; count += 1) {
    const due = started + (count * 1000) / perSecond;
    const early = due - performance.now();
    if (early > 0) await delay(early);
    underway.push(
      call().then((status) => {
        latencies.push(performance.now() - due);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }),
    );
  }
  await Promise.all(underway);
  return { latencies: latencies.sort((one, other) => one - other), statuses };
}
