import { readFile, writeFile } from 'node:fs/promises';

/** Slow work runs less often, but at least this often. */
const leastRuns = 5;
/** Milliseconds after which there are no more than the least runs. */
const patience = 5_000;

/** Milliseconds of each of `runs` runs, one after another, without a first one. There are fewer where they take over five seconds. */
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
  /** Processor time of the thread itself between two samples. */
  readonly own: number;
  /** Wall-clock time, which includes other work of the machine, such as the database. */
  readonly clock: number;
}

/** The cost of some work for this process. */
export interface Cost {
  readonly seconds: number;
  /** The longest that the event loop of the main thread was blocked, in milliseconds. */
  readonly block: Block;
  /** Resident memory of the process with its worker threads in MiB: before the work, and the peak. */
  readonly before: number;
  readonly peak: number;
}

/** Linux only: memory is read from /proc. */
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

/** Samples each millisecond how long the event loop was blocked. */
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

/** Milliseconds of processor time of this thread. */
function ownTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

async function resident(field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile('/proc/self/status', 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`, 'u').exec(status)?.[1] ?? 0) / 1024;
}

/** Resets the high-water mark to the resident memory of now (proc(5), clear_refs). */
function resetPeak(): Promise<void> {
  return writeFile('/proc/self/clear_refs', '5');
}
