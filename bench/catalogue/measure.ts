import { readFile, writeFile } from 'node:fs/promises';

/** What is slow is run less often: five times, however slow. */
const leastRuns = 5;
const patience = 5_000;

/** Milliseconds of each of `runs` runs, one after another; a first one is not counted. Fewer where they take over five seconds. */
export async function timesOf(runs: number, work: () => Promise<unknown>): Promise<readonly number[]> {
  await work();
  const times: number[] = [];
  const begun = performance.now();
  for (let run = 0; run < runs; run += 1) {
    if (run >= leastRuns && performance.now() - begun > patience) break;
    const started = performance.now();
    await work();
    times.push(performance.now() - started);
  }
  return times;
}

export interface Block {
  /** By the processor's time: what the thread itself did between two looks. */
  readonly own: number;
  /** By the clock: a machine with other work, such as the database, is in it. */
  readonly clock: number;
}

/** What some work did to this process. */
export interface Cost {
  readonly seconds: number;
  /** Milliseconds that the event loop of the main thread was longest held. */
  readonly block: Block;
  /** Resident memory of the whole process, its worker threads included. MiB, before and at most. */
  readonly before: number;
  readonly peak: number;
}

/** Linux only where memory is concerned: it is read from /proc. */
export async function costOf<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly cost: Cost }> {
  await resetPeak();
  const before = await resident('VmRSS');
  const watch = watchEventLoop();
  try {
    const started = performance.now();
    const result = await work();
    const seconds = (performance.now() - started) / 1000;
    return { result, cost: { seconds, block: watch.longest(), before, peak: await resident('VmHWM') } };
  } finally {
    watch.end();
  }
}

/** Looks every millisecond at how long the event loop was away. */
function watchEventLoop(): { longest(): Block; end(): void } {
  let [own, clock] = [0, 0];
  let last = { own: ownTime(), clock: performance.now() };
  const look = setInterval(() => {
    const now = { own: ownTime(), clock: performance.now() };
    own = Math.max(own, now.own - last.own);
    clock = Math.max(clock, now.clock - last.clock - 1);
    last = now;
  }, 1);
  return { longest: () => ({ own, clock }), end: () => clearInterval(look) };
}

/** Milliseconds of the processor that this thread has had. */
function ownTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

async function resident(field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile('/proc/self/status', 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`, 'u').exec(status)?.[1] ?? 0) / 1024;
}

/** Sets the high-water mark back to what is resident now (proc(5), clear_refs). */
function resetPeak(): Promise<void> {
  return writeFile('/proc/self/clear_refs', '5');
}
