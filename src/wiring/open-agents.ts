import type { Access } from '#access/access.ts';
import { createRights } from '#access/rights/rights.ts';
import type { AuditLog } from '#audit/audit-log.ts';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import type { CallPath } from '#calls/call-path.ts';
import type { Config } from '#config/config.ts';
import type { Database } from '#database/database.ts';
import type { Route } from '#http/route.ts';
import { agentRoutes } from '#http/routes/agent-routes.ts';
import type { TakePreview } from '#previews/preview.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import type { LiveParts } from './live-parts.ts';
import type { Approvals } from './open-approvals.ts';
import type { openCatalogues } from './open-catalogues.ts';
import type { Runs } from './open-runs.ts';

interface AgentOptions extends Pick<ReturnType<typeof openCatalogues>, 'automationsBy'> {
  readonly config: Config;
  readonly database: Database;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  readonly calls: CallPath;
  readonly preview: TakePreview;
  readonly approvalsBy: Approvals['catalogueBy'];
  readonly endApproval: Approvals['end'];
  readonly runs: Runs;
  readonly access: Access;
}

interface AgentSurroundings {
  /** In front of every path. */
  readonly base: string;
  readonly live: LiveParts;
  readonly metrics: Metrics;
}

/** The entrance of agents, and the calls of theirs that wait for people. Its library is loaded only where it is switched on. */
export async function openAgents(
  started: AsyncDisposableStack,
  options: AgentOptions,
  { base, live, metrics }: AgentSurroundings,
): Promise<{ readonly routes: readonly Route[]; follow(next: Config): void }> {
  let { mcp, access: accessConfig } = options.config;
  const follow = (next: Config): void => {
    ({ mcp, access: accessConfig } = next);
  };
  if (!mcp.enabled) return { routes: [], follow };
  const { createAgentParts } = await import('#mcp/agent-parts.ts');
  const rights = createRights(() => live.customRoles(), 'mcp');
  const { log, runs, access } = options;
  const parts = createAgentParts({
    ...options,
    adapters: () => live.adapters(),
    isReadAction: (adapter, path) => live.adapters().isReadAction(adapter, path),
    customRoles: () => live.customRoles(),
    rateLimit: () => live.rateLimit(),
    isReadOnly: () => mcp.readOnly,
    observers: { metrics, log },
    callEnded: metrics.callEnded,
    mask: runs.maskText,
    automations: options.automationsBy(rights),
    runs: runs.catalogueBy(rights),
    approvals: options.approvalsBy(rights),
    personOf: (id) => access.persons.idsOf(id)[0] ?? id,
    requireShare: (principal) => runs.quota.require(principal),
    linkOf: linkFrom(options.config, base),
    principalNow: access.principalNow,
    isGone: access.isGone,
    isRevoked: access.isTokenRevoked,
  });
  started.adopt(parts, (opened) => opened.stop());
  const issuers = (): readonly string[] => (mcp.metadata ? accessConfig.oidc.map(({ issuer }) => issuer) : []);
  return { routes: agentRoutes({ door: parts.door, tokenId: (presented) => access.tokenId(presented), base, issuers }), follow };
}

/** Where a person decides: the page of the console, or the route. */
function linkFrom({ server }: Config, base: string): (approval: string) => string {
  const path = server.console ? '/console/approvals' : '/approvals';
  return (approval) => `${base}${path}/${approval}`;
}
