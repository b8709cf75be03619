/** The time. Callers pass it in, so that tests can stop it. */
export interface Clock {
  /** Milliseconds since the epoch by the system's clock: for timestamps and expiry. */
  now(): number;
  /** Milliseconds since an arbitrary start, without jumps: for time limits and durations. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};
