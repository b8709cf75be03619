import type { Log } from '#base/log.ts';
import type { Config } from '#config/config.ts';
import type { SecretSources } from '#config/secrets/secret-sources.ts';
import { measureSecrets } from '#telemetry/gauges.ts';
import type { Metrics } from '#telemetry/metrics.ts';

/** Reads secrets in the background until the gateway stops. Answers what fails. */
export function openSecrets(
  started: AsyncDisposableStack,
  { secrets, log }: { readonly secrets: SecretSources; readonly log: Log },
  { registry }: Metrics,
): () => ReturnType<SecretSources['failing']> {
  started.adopt(secrets.watch(log), (watching) => watching.close());
  const failing = (): ReturnType<SecretSources['failing']> => secrets.failing();
  measureSecrets(registry, failing);
  return failing;
}

/** What follows once a reload is in force. */
export function afterReload(
  secrets: SecretSources,
  inForce: () => Promise<void>,
  reportLosses: (before: Config['access'], next: Config['access']) => Promise<void>,
): (next: Config, before: Config) => Promise<void> {
  return async (next, before) => {
    secrets.settle();
    await inForce();
    await reportLosses(before.access, next.access);
  };
}
