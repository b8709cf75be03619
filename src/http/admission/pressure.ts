import { totalmem } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';

/** Whether the gateway is overloaded. */
export interface Pressure {
  readonly overloaded: boolean;
  /** Throws 503 `overloaded` with `Retry-After` while the gateway is overloaded. */
  refuse(): void;
  close(): void;
}

/**
 * Measures every `interval` milliseconds and compares the result with the gauge's limits. The result holds until the next
 * measurement, so that each request costs one comparison. Logs when the overload begins and when it ends.
 */
export function createPressure({
  gauge,
  log,
  interval = 1_000,
}: {
  readonly gauge: PressureGauge;
  readonly log: Log;
  readonly interval?: number;
}): Pressure {
  let reason: string | undefined;
  const timer = setInterval(() => {
    const before = reason;
    reason = pressureOf(gauge.measure(), gauge.limits);
    if (reason !== undefined && reason !== before) log.warn('overloaded: calls and logins are refused', { reason });
    if (reason === undefined && before !== undefined) log.info('no longer overloaded');
  }, interval);
  timer.unref();
  return {
    get overloaded() {
      return reason !== undefined;
    },
    refuse() {
      if (reason !== undefined) throw overloaded(reason);
    },
    close() {
      clearInterval(timer);
      gauge.close();
    },
  };
}

/** `reason` is a clause without a full stop. */
export function overloaded(reason: string): GatewayError {
  return new GatewayError('overloaded', `The gateway is overloaded: ${reason}. Nothing was sent; try again in a moment.`, {
    headers: { 'Retry-After': '1' },
  });
}

/** A clause that names what is over its limit; undefined where nothing is. */
function pressureOf(measured: Measurement, limits: Measurement): string | undefined {
  if (measured.eventLoopDelay > limits.eventLoopDelay) return 'its event loop is behind';
  if (measured.residentMemory > limits.residentMemory) return 'it uses nearly all memory there is';
  if (measured.heap > limits.heap) return 'its heap is nearly full';
  return undefined;
}

export interface Measurement {
  /**
   * Milliseconds by which iterations of the event loop were late on average. The lesser of the last two measurements counts: one
   * pause of the machine, or one long iteration, is not overload.
   */
  readonly eventLoopDelay: number;
  /** Bytes that the process holds in memory. */
  readonly residentMemory: number;
  /** Bytes of V8's heap in use. */
  readonly heap: number;
}

export interface PressureGauge {
  /** The gateway is overloaded while a measurement is over one of these. */
  readonly limits: Measurement;
  measure(): Measurement;
  close(): void;
}

/** What the gauge reads: members of Node's `process`, and whether the gateway has it alone. */
export interface ProcessMemory {
  readonly memoryUsage: { rss(): number };
  /** Bytes that the container may use; 0, or more than the machine has, where there is no limit. */
  constrainedMemory(): number;
  /** The process has other work than the gateway, such as tests: the delay of its event loop says nothing about the gateway. */
  readonly isShared?: boolean;
}

/** Milliseconds between two samples of the event loop: 50 wake-ups a second, none of which runs JavaScript. */
const resolution = 20;
const shareOfMemory = 0.85;
const shareOfHeap = 0.9;

/** Measures this process. The memory limits follow from the machine or container and from V8's own limit; the limit of the delay is 250 ms. */
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
      // Node reads it from a file, and the process may have no file descriptor left. The last value is close enough.
    }
  };
  return {
    limits: {
      eventLoopDelay: memory.isShared === true ? Number.POSITIVE_INFINITY : 250,
      residentMemory: available * shareOfMemory,
      heap: getHeapStatistics().heap_size_limit * shareOfHeap,
    },
    measure() {
      // Without an iteration since the last measurement the mean is NaN, which is over no limit.
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
