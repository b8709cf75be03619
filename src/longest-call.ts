import type { Config } from '#config/config.ts';

/** Milliseconds that no call takes longer than. */
export function longestCallOf({ outbound, adapters }: Pick<Config, 'adapters' | 'outbound'>): number {
  return Math.max(outbound.timeouts.total, ...adapters.map(({ timeouts }) => timeouts.total));
}
