import type { Clock } from '#base/clock.ts';

/** Milliseconds that the clocks of gateways may differ. */
const margin = 60_000;

/** A call that was put on record before this is over; one from then on may be under way. Milliseconds since the epoch. */
export function underWaySince({ clock, longestCall }: { readonly clock: Clock; readonly longestCall: () => number }): number {
  return clock.now() - longestCall() - margin;
}
