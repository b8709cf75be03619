import type { Clock } from '#base/clock.ts';

/** Milliseconds by which the clocks of gateways may differ. */
const margin = 60_000;

/** A call recorded before this time has ended. A call recorded later may be in progress. Milliseconds since the epoch. */
export function inProgressSince({
  clock,
  maxCallDuration,
}: {
  readonly clock: Clock;
  readonly maxCallDuration: () => number;
}): number {
  return clock.now() - maxCallDuration() - margin;
}
