import { type Access, createAccess } from '#access/access.ts';
import type { AccessWatcher } from '#access/access-watcher.ts';
import type { AccessOptions } from '#access/rights/access-options.ts';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import type { Config } from '#config/config.ts';
import type { Database } from '#database/database.ts';
import type { FreeSpace } from '#database/sqlite/free-space.ts';
import { readPublicUrl } from '#http/admission/own-names.ts';
import { createSender, fetchDocument } from '#outbound/call/sender.ts';
import { createConnector } from '#outbound/dialling/connector.ts';
import type { Resolve } from '#outbound/dialling/resolver.ts';
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
    config: accessOptions(config),
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

/** The section, with what adapters want to know of people. */
export function accessOptions({ access, adapters }: Pick<Config, 'access' | 'adapters'>): AccessOptions {
  const pairs = adapters.flatMap(({ auth }) => (auth.type === 'caller' ? Object.entries(auth.userClaims) : []));
  const issuers = [...new Set(pairs.map(([issuer]) => issuer))].toSorted();
  const claimsOf = (issuer: string): readonly string[] =>
    [...new Set(pairs.flatMap(([of, claim]) => (of === issuer ? [claim] : [])))].toSorted();
  return { ...access, nameClaims: Object.fromEntries(issuers.map((issuer) => [issuer, claimsOf(issuer)])) };
}

/** Behind a proxy only `server.publicUrl` tells whether callers use TLS. */
function isReachedOverTls({ publicUrl, tls }: Config['server']): boolean {
  return publicUrl === undefined ? tls !== undefined : new URL(publicUrl).protocol === 'https:';
}
