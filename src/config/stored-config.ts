import { adapterTimeouts } from './adapter-section.ts';
import type { Config, StoreConfig } from './config.ts';
import { configShape } from './config-shape.ts';
import { type LoadOptions, loadShape } from './load-config.ts';
import { outboundTimeouts } from './outbound-section.ts';
import { defaulted, list, mapping, optional, part, type Shape } from './shape.ts';
import { storeSection } from './store-section.ts';

type TimeLimits = Pick<Config['outbound'], 'timeouts'>;

/** What the commands need that open the store without a gateway: no secrets but those of the store. A `Config` is one, too. */
export interface StoredConfig {
  readonly store: StoreConfig;
  readonly outbound: TimeLimits;
  readonly adapters: readonly TimeLimits[];
}

/** Any value, unread. */
const unread: Shape<true> = { type: 'anything', read: async () => true };

/** The other sections may have any value. But an unknown section is a problem: a misspelt `store` would mean the default store. */
const storedShape: Shape<StoredConfig> = mapping({
  ...Object.fromEntries(Object.keys(configShape.members ?? {}).map((key) => [key, optional(unread, '')])),
  store: defaulted(storeSection, '{}', ''),
  outbound: defaulted(part({ timeouts: defaulted(outboundTimeouts, '{}', '') }), '{}', ''),
  adapters: defaulted(list(part({ timeouts: defaulted(adapterTimeouts, '{}', '') })), '[]', ''),
});

/** As `loadConfig`, but only of the store and the time limits: other sections may have problems. */
export function loadStoredConfig(options: LoadOptions): Promise<{ readonly config: StoredConfig }> {
  return loadShape(storedShape, options);
}
