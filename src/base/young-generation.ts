import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of both halves of V8's new space at which it is to stop growing. */
const newSpaceLimit = 16 * 1024 ** 2;

/**
 * Keeps V8's young generation small: left alone it grows to 64 MiB under a streaming reply, which would be all the memory that a
 * large reply may cost. V8 reads `--max-semi-space-size` only at its start, but the growth factor each time it grows; a factor
 * of 1 is no growth. Returns what undoes it.
 */
export function limitYoungGeneration(): () => void {
  const observer = new PerformanceObserver(() => setGrowth(newSpaceSize() < newSpaceLimit));
  observer.observe({ entryTypes: ['gc'] });
  return () => {
    observer.disconnect();
    setGrowth(true);
  };
}

function newSpaceSize(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0;
}

function setGrowth(grows: boolean): void {
  setFlagsFromString(`--semi-space-growth-factor=${grows ? 2 : 1}`);
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
