import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import type { Measurement, PressureGauge } from './pressure-gauge.ts';

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
