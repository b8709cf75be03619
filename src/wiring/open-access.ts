import { type Access, createAccess } from '#access/access.ts';
import type { AccessWatcher } from '#access/access-watcher.ts';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import type { Config, ServerConfig } from '#config/config.ts';
import type { Database } from '#database/database.ts';
import type { FreeSpace } from '#database/free-space.ts';
import { readPublicUrl } from '#http/public-url.ts';
import { createConnector } from '#outbound/connector.ts';
import { fetchDocument } from '#outbound/document.ts';
import type { Resolve } from '#outbound/resolver.ts';
import { createSender } from '#outbound/sender.ts';
import type { WatchPool } from '#telemetry/gauges.ts';

/** For the documents of OIDC issuers; milliseconds. */
const documentTimeouts = { dns: 3_000, connect: 5_000, firstByte: 5_000, idle: 5_000, total: 10_000 };

/** Creates `Access` and the connections to its OIDC issuers; `started` closes both. Rejects with 503 where the store is unavailable. */
export async function openAccess(
  started: AsyncDisposableStack,
  options: {
    readonly config: Config;
    readonly database: Database;
    readonly freeSpace: FreeSpace;
    readonly clock: Clock;
    readonly log: Log;
    readonly resolve: Resolve;
    readonly userAgent: string;
    readonly watcher: AccessWatcher;
    /** Counts connections. */
    readonly pooled: WatchPool;
  },
): Promise<Access> {
  const { config, database, freeSpace, clock, log, resolve, userAgent, watcher, pooled } = options;
  const connect = createConnector({ resolve, timeouts: documentTimeouts });
  const documents = started.adopt(pooled({ pool: 'issuers' }, createSender({ connect })), (sender) => sender.close());
  const access = await createAccess({
    config: config.access,
    database,
    clock,
    log,
    fetch: (url, request) => fetchDocument(url, request, { sender: documents, clock, timeouts: documentTimeouts, userAgent }),
    secureCookies: isReachedOverTls(config.server),
    loginPath: `${readPublicUrl(config.server.publicUrl).path}/login/oidc`,
    watcher,
    isShort: () => freeSpace.isShort(),
  });
  return started.adopt(access, (opened) => opened.close());
}

/** Behind a proxy only `server.publicUrl` tells whether callers use TLS. */
function isReachedOverTls({ publicUrl, tls }: ServerConfig): boolean {
  return publicUrl === undefined ? tls !== undefined : new URL(publicUrl).protocol === 'https:';
}
