import type { Access } from '#access/access.ts';
import type { ProcessLog } from '#base/log.ts';
import type { Config } from '#config/config.ts';
import { sameConfig } from '#config/same-config.ts';
import type { HttpServer } from '#http/server.ts';
import type { Metrics } from '#telemetry/metrics.ts';

/** Updates the parts that a new configuration changes without replacing them. Its loader has already checked certificates and hashes. */
export function followers({
  server,
  access,
  parts,
  metrics,
  log,
}: {
  readonly server: HttpServer;
  readonly access: Access;
  readonly parts: readonly { follow(next: Config): void }[];
  readonly metrics: Metrics;
  readonly log: ProcessLog;
}): (next: Config, current: Config) => void {
  return (next, current) => {
    const { tls, logLevel } = next.server;
    if (tls !== undefined && !sameConfig(tls, current.server.tls)) server.useCertificate(tls);
    // Only a changed section: a reload empties the cache of verified credentials, and then all callers are verified again at once.
    if (!sameConfig(next.access, current.access)) access.reload(next.access);
    metrics.expectCalls(next.adapters.map(({ name }) => name));
    log.setLevel(logLevel);
    for (const part of parts) part.follow(next);
  };
}
