import { decideEntry } from '#calls/decide-entry.ts';
import { createHttpServer, type HttpServer } from '#http/server.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import type { LiveParts } from './live-parts.ts';

interface ServerOptions extends Omit<Parameters<typeof createHttpServer>[0], 'server' | 'admits' | 'watcher' | 'rateLimit'> {
  readonly config: Pick<Parameters<typeof createHttpServer>[0], 'server'>;
  readonly live: LiveParts;
  readonly metrics: Metrics;
}

/** The server of HTTP requests, which asks the rules in force. */
export function serverOf({ config: { server }, live, metrics, ...options }: ServerOptions): HttpServer {
  const admits: Parameters<typeof createHttpServer>[0]['admits'] = (asked) =>
    decideEntry({ ...asked, entrance: 'http', customRoles: live.customRoles() });
  return createHttpServer({ ...options, server, admits, watcher: metrics, rateLimit: () => live.rateLimit() });
}
