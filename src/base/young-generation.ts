import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

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
