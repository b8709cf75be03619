import { fileURLToPath } from 'node:url';
import type { Access } from '#access/access.ts';
import type { Log, ProcessLog } from '#base/log.ts';
import { decideEntry } from '#calls/decide-entry.ts';
import type { Config } from '#config/config.ts';
import { sameConfig } from '#config/same-config.ts';
import { type ConsoleFiles, readConsole } from '#http/routes/console-routes.ts';
import { createHttpServer, type HttpServer } from '#http/server.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import type { LiveParts } from './live-parts.ts';
import { accessOptions } from './open-access.ts';

interface ServerOptions extends Omit<Parameters<typeof createHttpServer>[0], 'server' | 'admits' | 'watcher' | 'rateLimit'> {
  readonly config: Pick<Parameters<typeof createHttpServer>[0], 'server'>;
  readonly live: LiveParts;
  readonly metrics: Metrics;
}

/** The server of HTTP requests, which asks the rules in force. */
export function openServer({ config: { server }, live, metrics, ...options }: ServerOptions): HttpServer {
  const admits: Parameters<typeof createHttpServer>[0]['admits'] = (asked) =>
    decideEntry({ ...asked, entrance: 'http', customRoles: live.customRoles() });
  return createHttpServer({ ...options, server, admits, watcher: metrics, rateLimit: () => live.rateLimit() });
}

const folder = fileURLToPath(new URL('../../console/dist', import.meta.url));

/** The files of the console. Where it is not built the gateway starts without it, and the log says so. `path`: in front of each path. */
export async function openConsole({ server }: Config, path: string, log: Log): Promise<ConsoleFiles | 'off' | undefined> {
  if (!server.console) return 'off';
  const files = await readConsole(folder, path);
  if (files === undefined) log.warn('the console is not built', { file: folder, reason: 'npm run build:console builds it' });
  return files;
}

/** Updates the parts that a new configuration changes without replacing them. Its loader has already checked certificates and hashes. */
export function createFollower({
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
    if (!sameConfig(accessOptions(next), accessOptions(current))) access.reload(accessOptions(next));
    metrics.expectCalls(next.adapters.map(({ name }) => name));
    log.setLevel(logLevel);
    for (const part of parts) part.follow(next);
  };
}
