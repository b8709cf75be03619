import { setTimeout as sleep } from 'node:timers/promises';
import type { Side } from './side.ts';
import type { TimedUpstream } from './upstream.ts';

/** Milliseconds from the asking for a run until its first call reaches the upstream, for each of `count` runs, one at a time. */
export async function firstCalls(side: Side, far: TimedUpstream, count: number): Promise<readonly number[]> {
  const times: number[] = [];
  // The first one compiles code.
  for (let index = 0; index <= count; index += 1) {
    const before = await side.ended();
    const first = far.next();
    const asked = performance.now();
    await side.create({ job: 'reads', count: 1, far: far.url });
    times.push((await first) - asked);
    while ((await side.ended()) === before) await sleep(20);
    // No fixed pause, so that no engine that polls is met at the same moment each time.
    await sleep(50 + Math.random() * 500);
  }
  return times.slice(1);
}

/** Milliseconds from SIGKILL of the process whose call is in flight until another process on the store makes the call again. */
export async function takeover(side: Side, far: TimedUpstream): Promise<number> {
  const before = await side.ended();
  far.hold();
  const first = far.next();
  await side.create({ job: 'reads', count: 1, far: far.url });
  await first;
  const again = far.next();
  const killed = performance.now();
  await side.replace();
  const limit = new AbortController();
  const late = sleep(takeoverLimit, Number.NaN, { signal: limit.signal });
  late.catch(() => undefined);
  const at = await Promise.race([again, late]);
  limit.abort();
  far.release();
  if (Number.isNaN(at)) return at;
  while ((await side.ended()) === before) await sleep(20);
  return at - killed;
}

/** Milliseconds after which the takeover counts as none. */
const takeoverLimit = 120_000;
