import type { StoredConfig } from '#config/stored-config.ts';

type Limits = Pick<StoredConfig, 'adapters' | 'outbound'>;

/** No call in flight takes longer than these milliseconds. */
export interface LongestCall {
  (): number;
  /** To be called with each new configuration. The value never decreases, since calls of an earlier configuration may be in flight. */
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

/** Milliseconds: the longest total time limit in a configuration. */
export function longestCallOf({ outbound, adapters }: Limits): number {
  return Math.max(outbound.timeouts.total, ...adapters.map(({ timeouts }) => timeouts.total));
}
