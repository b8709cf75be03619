import { totalmem } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

export interface Measurement {
  /** Milliseconds by which the turns of the event loop came late on average: the lesser of the last two measurements, for one pause of the machine, or one long turn, is soon over. */
  readonly eventLoopDelay: number;
  /** Bytes that the process holds in memory. */
  readonly residentMemory: number;
  /** Bytes of V8's heap in use. */
  readonly heap: number;
}

export interface PressureGauge {
  /** Beyond any of these the gateway takes no more work. */
  readonly limits: Measurement;
  measure(): Measurement;
  close(): void;
}

/** What the gauge needs of the process. */
export interface ProcessMemory {
  readonly memoryUsage: { rss(): number };
  /** Bytes that a container allows; 0, or more than the machine has, where it allows all. */
  constrainedMemory(): number;
}

/** Milliseconds between two looks at the event loop: 50 wake-ups a second, none of them in JavaScript. */
const resolution = 20;
const shareOfMemory = 0.85;
const shareOfHeap = 0.9;

/** Measures this process. The memory limits follow the machine or container and V8's own limit; the delay is at most 250 ms. */
export function createPressureGauge(memory: ProcessMemory): PressureGauge {
  const delays = monitorEventLoopDelay({ resolution });
  delays.enable();
  const constrained = memory.constrainedMemory();
  const available = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  let residentMemory = 0;
  let delayBefore = 0;
  const measureResidentMemory = (): void => {
    try {
      residentMemory = memory.memoryUsage.rss();
    } catch {
      // It is read from a file, and there may be none left to open: what it was a moment ago is near enough.
    }
  };
  return {
    limits: {
      eventLoopDelay: 250,
      residentMemory: available * shareOfMemory,
      heap: getHeapStatistics().heap_size_limit * shareOfHeap,
    },
    measure() {
      // No turn at all since the last measurement leaves no mean: NaN, which is over no limit.
      const delay = Math.max(0, delays.mean / 1e6 - resolution);
      const eventLoopDelay = Math.min(delayBefore, delay);
      delayBefore = delay;
      delays.reset();
      measureResidentMemory();
      return { eventLoopDelay, residentMemory, heap: getHeapStatistics().used_heap_size };
    },
    close: () => void delays.disable(),
  };
}
