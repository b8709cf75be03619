import type { Config } from '#config/config.ts';

type Limits = Pick<Config, 'adapters' | 'outbound'>;

/** Milliseconds that no call takes longer than. */
export interface LongestCall {
  (): number;
  /** Another configuration is in force; calls that were begun under an earlier one may last. */
  follow(next: Limits): void;
}

export function createLongestCall(config: Limits): LongestCall {
  let longest = longestCallOf(config);
  return Object.assign(() => longest, {
    follow(next: Limits) {
      longest = Math.max(longest, longestCallOf(next));
    },
  });
}

/** Milliseconds that no call takes longer than. */
export function longestCallOf({ outbound, adapters }: Limits): number {
  return Math.max(outbound.timeouts.total, ...adapters.map(({ timeouts }) => timeouts.total));
}
