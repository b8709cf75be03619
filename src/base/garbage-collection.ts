import { constants, type PerformanceEntry, type PerformanceNodeEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of both halves of V8's new space at which it is to stop growing. */
const newSpaceLimit = 16 * 1024 ** 2;

/** Bytes in use after a collection of the whole heap, up to which the heap may double before the next one. */
const smallHeap = 128 * 1024 ** 2;

/**
 * Keeps V8's young generation small: left alone it grows to 64 MiB under a streaming reply, which would be all the memory that a
 * large reply may cost. V8 reads `--max-semi-space-size` only at its start, but the growth factor each time it grows: one that
 * leads to the limit at once, for a start collects less often then, and later 1, which is no growth. Returns what undoes it.
 *
 * It is collected by the thread that waits for it: there is little to do, and a helper that gets no processor is waited for.
 *
 * The heap as a whole is collected when it has doubled, as long as that is little memory. V8 would do so each ten MiB, for it goes by the
 * time that this takes; code that was optimized and is not at work at that moment is lost with it (decision 0008).
 */
export function tuneGarbageCollection(): () => void {
  setFlagsFromString('--no-parallel-scavenge');
  const grow = (): void => setGrowth(newSpaceLimit / newSpaceSize());
  grow();
  setWholeGrowth(100);
  const observer = new PerformanceObserver((collections) => {
    grow();
    const wasWhole = collections.getEntries().some(isWhole);
    if (wasWhole) setWholeGrowth(getHeapStatistics().used_heap_size <= smallHeap ? 100 : usualWholeGrowth);
  });
  observer.observe({ entryTypes: ['gc'] });
  return () => {
    observer.disconnect();
    setGrowth(usualGrowth);
    setWholeGrowth(usualWholeGrowth);
    setFlagsFromString('--parallel-scavenge');
  };
}

function isWhole(entry: PerformanceEntry): boolean {
  return (entry as PerformanceNodeEntry).detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}

/** Percent; 0: V8 goes by its own measurements. */
function setWholeGrowth(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}

const usualWholeGrowth = 0;

/** V8's own. */
const usualGrowth = 2;

function newSpaceSize(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? newSpaceLimit;
}

function setGrowth(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${Math.max(1, Math.floor(factor))}`);
}

/** Bytes of streamed buffers after which the young generation is collected. */
const streamedLimit = 16 * 1024 ** 2;
let streamed = 0;
let collect: ((options: { readonly type: 'minor' }) => void) | undefined;

/**
 * Counts bytes that come in buffers of their own and are soon done with. Such buffers are no part of V8's heap, so that nothing has them
 * collected but their limit of 64 MiB, and then with all of the heap; this has them collected with the young generation, in some tenths
 * of a millisecond.
 */
export function countStreamed(bytes: number): void {
  streamed += bytes;
  if (streamed < streamedLimit) return;
  streamed = 0;
  collect ??= exposedCollector();
  collect({ type: 'minor' });
}

/** V8 shows it only to contexts that are made while the flag is set. */
function exposedCollector(): NonNullable<typeof collect> {
  setFlagsFromString('--expose-gc');
  const exposed: unknown = runInNewContext('globalThis.gc');
  setFlagsFromString('--no-expose-gc');
  return typeof exposed === 'function' ? (exposed as NonNullable<typeof collect>) : () => undefined;
}
