/** Time, passed in so that tests can hold it still. */
export interface Clock {
  /** Milliseconds since the epoch, as the operator's clock says it: for timestamps and expiry. */
  now(): number;
  /** Milliseconds from an arbitrary start that never jump: for time limits and durations. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};
