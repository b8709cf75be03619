import type { Access } from '#access/access.ts';
import type { ApprovalCatalogue } from '#approvals/approval-catalogue.ts';
import type { AuditLog } from '#audit/audit-log.ts';
import type { AuditReader } from '#audit/audit-reader.ts';
import type { AutomationCatalogue } from '#automations/automation-catalogue.ts';
import type { OtherKinds } from '#automations/transfer/other-kinds.ts';
import type { Clock } from '#base/clock.ts';
import type { ProcessLog } from '#base/log.ts';
import type { CallPath } from '#calls/call-path.ts';
import { usableOperations } from '#calls/decide-entry.ts';
import type { CallRules } from '#calls/explain/explain-call.ts';
import type { Config } from '#config/config.ts';
import type { LoadedConfig } from '#config/load-config.ts';
import type { SecretSources } from '#config/secrets/secret-sources.ts';
import { createRequireRoom } from '#database/sqlite/reserve.ts';
import type { FormCatalogue } from '#forms/form-catalogue.ts';
import { readPublicUrl } from '#http/admission/own-names.ts';
import { createPressure, createPressureGauge, type Pressure, type ProcessMemory } from '#http/admission/pressure.ts';
import type { ApiRoute, Route } from '#http/route.ts';
import { adapterRoutes, reloadRoutes } from '#http/routes/adapter-routes.ts';
import { approvalRoutes } from '#http/routes/approval-routes.ts';
import { auditRoutes } from '#http/routes/audit-routes.ts';
import { automationHistoryRoute } from '#http/routes/automation-history-route.ts';
import { automationPreviewRoute, automationRoutes } from '#http/routes/automation-routes.ts';
import { explainRoutes } from '#http/routes/calls/explain-routes.ts';
import { previewRoutes } from '#http/routes/calls/preview-routes.ts';
import { relayRoutes } from '#http/routes/calls/relay-routes.ts';
import { type ConsoleFiles, consoleRoutes } from '#http/routes/console-routes.ts';
import { documentationRoutes } from '#http/routes/documentation-routes.ts';
import { formRoutes } from '#http/routes/form-routes.ts';
import { issuerLoginRoutes } from '#http/routes/logins/issuer-login-routes.ts';
import { sessionRoutes } from '#http/routes/logins/session-routes.ts';
import { notificationRoutes } from '#http/routes/notification-routes.ts';
import { operationsRoutes } from '#http/routes/operations-routes.ts';
import { runReleaseRoute, runRoutes } from '#http/routes/runs/run-routes.ts';
import { statisticsRoutes } from '#http/routes/statistics-routes.ts';
import { workflowLanguageRoute } from '#http/routes/workflow-language-route.ts';
import { workflowRoutes } from '#http/routes/workflow-routes.ts';
import type { HttpServer } from '#http/server.ts';
import type { NotificationCatalogue } from '#notifications/notification-catalogue.ts';
import { createResolver } from '#outbound/dialling/resolver.ts';
import type { TakePreview } from '#previews/preview.ts';
import type { RunCatalogue } from '#runs/catalogue/run-catalogue.ts';
import { createRollups } from '#statistics/rollups.ts';
import { measureAdapters, measureAudit } from '#telemetry/gauges.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import type { WorkflowCatalogue } from '#workflows/catalogue/workflow-catalogue.ts';
import type { AdapterNeeds } from './create-adapter.ts';
import { createTelemetry } from './create-telemetry.ts';
import { createLiveParts, findCommit, type LiveParts, type OutboundNeeds, stampsCall } from './live-parts.ts';
import { createLossReport } from './lost-automations.ts';
import { openAccess } from './open-access.ts';
import { openAgents } from './open-agents.ts';
import { openCalls } from './open-calls.ts';
import type { Runs } from './open-runs.ts';
import { createScheduleWarnings, openSchedules, type ScheduleWarnings } from './open-schedules.ts';
import { afterReload, openSecrets } from './open-secrets.ts';
import { createFollower, openConsole, openServer } from './open-server.ts';
import { createReloading, type ReloadAsker, type Reloading, type ReloadResult } from './reload.ts';
import { openStore } from './store/open-store.ts';

/** A running gateway. */
export interface Gateway {
  /** The address to call, such as `http://127.0.0.1:3000`. */
  readonly url: string;
  /** Reloads the configuration (see Reloading). */
  reload(asker: ReloadAsker): Promise<ReloadResult>;
  /** Stops accepting, waits until the calls in flight have ended, and closes everything. */
  stop(): Promise<void>;
  /** Aborts every connection and call of callers, so that a pending `stop` resolves. */
  abort(): void;
}

interface GatewayOptions {
  readonly config: Config;
  readonly secrets: SecretSources;
  /** Reads the configuration again; absent where there is no file to read. Rejects with a ConfigError. */
  readonly loadAgain?: (() => Promise<LoadedConfig>) | undefined;
  readonly log: ProcessLog;
  readonly clock: Clock;
  readonly version: string;
  /** For the memory limits of overload. */
  readonly memory: ProcessMemory;
  /** Only OpenTelemetry's standard variables are read from it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Creates and starts all parts of a gateway; no other file knows them all. Rejects where the store or the port is unavailable. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, log, version } = options;
  const userAgent = `orchestration-gateway/${version}`;
  // Closes the started parts, the last one first, where a later step fails or when the gateway stops.
  await using started = new AsyncDisposableStack();
  const { metrics, pooled, accessWatcher, storeWatcher, runWatcher, scheduleWatcher, limitReached, ...telemetry } =
    createTelemetry(options);
  const stored = await openStore(started, { ...options, watcher: storeWatcher });
  const { database, audit, auditReader, maxCallDuration, freeSpace, losses } = stored;
  // Names from the configuration have a resolver of their own.
  const resolve = createResolver({ concurrency: 2 });
  const tracing = started.adopt(await telemetry.openTracing(resolve), (opened) => opened?.close());
  const needs = { resolve, userAgent, pooled, ownListeners: () => server.listeners() };
  const live = openLiveParts(started, options, needs);
  const access = await openAccess(started, { ...options, ...stored, resolve, userAgent, pooled, watcher: accessWatcher });
  const secrets = openSecrets(started, options, metrics);
  measureParts(metrics, live, audit);
  const pressure = openPressure(started, options);
  const standing = standingOf(stored, pressure);
  telemetry.measure({ ...standing, store: () => database.figures() });
  const { base, path } = readPublicUrl(config.server.publicUrl);
  const requireRoom = createRequireRoom(freeSpace, limitReached);
  const making = { ...needs, live, access, base, metrics, runWatcher, tracing, limitReached, requireRoom };
  const { catalogues, runs, people, notifications, inForce, ...made } = openCalls(started, { ...options, ...stored }, making);
  const parted = { ...options, ...stored, ...catalogues, ...made, access, runs, people };
  openSchedules(started, { ...parted, watcher: scheduleWatcher, requireRoom });
  const agents = await openAgents(started, parted, { base, live, metrics });
  const routes = gatewayRoutes({
    agentRoutes: agents.routes,
    consoleFiles: await openConsole(config, path, log),
    version,
    base,
    access,
    auditReader,
    ...catalogues,
    runs: runs.catalogue,
    scheduleWarnings: createScheduleWarnings(parted),
    mask: runs.mask,
    live,
    statistics: { rollups: createRollups(database), clock: options.clock },
    ...made,
    operations: { ...config.server, ...standing, metrics, runFigures: runs.figures, secrets },
    releaseRuns: () => losses.release(),
    reload: (asker) => reloading.reload(asker),
  });
  const serving = { live, metrics, tracing, pressure, limitReached, mask: runs.maskText };
  const server = openServer({ ...options, ...stored, ...serving, routes, access });
  const reportLosses = createLossReport(parted);
  const parts = [maxCallDuration, runs, notifications, telemetry.expiries, losses, agents];
  const reloading = createReloading({
    config,
    load: options.loadAgain,
    live,
    follow: createFollower({ server, access, parts, metrics, log }),
    inForce: afterReload(options.secrets, inForce, reportLosses),
    audit,
    log,
  });
  started.defer(() => reloading.stop());
  started.defer(() => server.close());
  return runningGateway({ url: await server.listen(), running: started.move(), reloading, server, runs });
}

/** Starts the parts that a reload replaces. */
function openLiveParts(
  started: AsyncDisposableStack,
  { config, log, clock }: GatewayOptions,
  {
    resolve,
    userAgent,
    pooled,
    ownListeners,
  }: Pick<AdapterNeeds, 'resolve' | 'userAgent' | 'pooled'> & Pick<OutboundNeeds, 'ownListeners'>,
): LiveParts {
  // Callers may choose names that are slow to look up, so their calls have a resolver of their own. Look-ups get at most half of libuv's
  // threads, of which main.ts sets 16. 2 + 6 look-ups are that half, so argon2 and file access always find a thread.
  const resolveForCallers = createResolver({ concurrency: 6 });
  const parts = createLiveParts({
    config,
    adapterNeeds: { resolve, clock, userAgent, issuer: config.server.publicUrl, pooled, log },
    outboundNeeds: { resolve: resolveForCallers, ownListeners, pooled },
    log,
  });
  return started.adopt(parts, (made) => made.close());
}

/** What `/readyz` and the gauges of the process read. */
function standingOf({ database, freeSpace, losses }: Awaited<ReturnType<typeof openStore>>, pressure: Pressure) {
  return {
    pingStore: () => database.ping(),
    isOverloaded: () => pressure.overloaded,
    isShort: () => freeSpace.isShort(),
    lost: () => losses.open(),
  };
}

/** `running` closes every part. */
function runningGateway({
  url,
  running,
  reloading,
  server,
  runs,
}: {
  readonly url: string;
  readonly running: AsyncDisposableStack;
  readonly reloading: Reloading;
  readonly server: HttpServer;
  readonly runs: Runs;
}): Gateway {
  return {
    url,
    reload: (asker) => reloading.reload(asker),
    async stop() {
      // Runs begin no further task while the callers' requests end.
      runs.engine.stop().catch(() => {});
      await running.disposeAsync();
    },
    abort() {
      runs.engine.abort();
      server.abort();
    },
  };
}

/** Registers the gauges that ask these parts at each scrape. */
function measureParts({ registry }: Metrics, live: LiveParts, audit: Pick<AuditLog, 'counts'>): void {
  measureAdapters(registry, () => live.adapters().all());
  measureAudit(registry, () => audit.counts());
}

/** Measures the load of the process until the gateway stops. */
function openPressure(started: AsyncDisposableStack, { memory, log }: GatewayOptions): Pressure {
  return started.adopt(createPressure({ gauge: createPressureGauge(memory), log }), (measured) => measured.close());
}

function gatewayRoutes(
  options: Omit<ServedParts, 'allRoutes' | 'hasConsole'> & {
    readonly version: string;
    readonly consoleFiles: ConsoleFiles | 'off' | undefined;
    readonly agentRoutes: readonly Route[];
  },
): readonly Route[] {
  const { version, base, access, consoleFiles: files, agentRoutes } = options;
  const hasConsole = files !== 'off' && files !== undefined;
  const served = servedRoutes({ ...options, hasConsole, allRoutes: () => all });
  const all = [...served, ...documentationRoutes({ routes: served, version, base, hasConsole, cookieName: access.cookieName })];
  return [...all, ...agentRoutes, ...consoleRoutes({ files, version, base })];
}

interface ServedParts {
  /** In front of a path that a reply names. */
  readonly base: string;
  readonly access: Access;
  readonly hasConsole: boolean;
  readonly auditReader: AuditReader;
  readonly automations: AutomationCatalogue;
  readonly workflows: WorkflowCatalogue;
  readonly forms: FormCatalogue;
  readonly otherKinds: OtherKinds;
  readonly runs: RunCatalogue;
  readonly releaseRuns: () => Promise<number>;
  readonly scheduleWarnings: ScheduleWarnings;
  /** Replaces the values of secrets of workflows in a JSON text. */
  readonly mask: (jsonText: string) => string;
  readonly approvals: ApprovalCatalogue;
  readonly notifications: NotificationCatalogue;
  readonly live: LiveParts;
  readonly statistics: Omit<Parameters<typeof statisticsRoutes>[0], 'runs'>;
  readonly calls: CallPath;
  readonly preview: TakePreview;
  readonly operations: Omit<Parameters<typeof operationsRoutes>[0], 'adapterStates'>;
  readonly reload: (asker: ReloadAsker) => Promise<ReloadResult>;
  /** These and those of the documentation. */
  readonly allRoutes: () => readonly ApiRoute[];
}

/** All routes except those of the documentation. */
function servedRoutes({
  base,
  access,
  hasConsole,
  auditReader,
  automations,
  workflows,
  forms,
  otherKinds,
  runs,
  releaseRuns,
  scheduleWarnings,
  mask,
  approvals,
  notifications,
  live,
  statistics,
  calls,
  preview,
  operations,
  reload,
  allRoutes,
}: ServedParts): readonly ApiRoute[] {
  return [
    ...relayRoutes({ adapters: () => live.adapters(), customRoles: () => live.customRoles(), calls }),
    ...previewRoutes({ adapters: () => live.adapters(), customRoles: () => live.customRoles(), preview }),
    ...adapterRoutes({ adapters: () => live.adapters() }),
    ...automationRoutes(automations, { base, warningsOf: scheduleWarnings, lastRuns: runs.lastRuns, others: otherKinds }),
    automationPreviewRoute(automations, { warningsOf: scheduleWarnings }),
    automationHistoryRoute(automations, mask),
    ...workflowRoutes(workflows, base),
    workflowLanguageRoute(),
    ...formRoutes(forms, base),
    ...runRoutes(runs, { base, preview, findCommit: (commit) => findCommit(live, commit) }),
    runReleaseRoute(releaseRuns),
    ...approvalRoutes(approvals, (call) => stampsCall(live, call)),
    ...notificationRoutes(notifications),
    ...sessionRoutes(access, (principal) => usableOperations({ principal, entrance: 'http', customRoles: live.customRoles() })),
    ...issuerLoginRoutes({ access, base, hasConsole }),
    ...explainRoutes({
      principalNamed: (username) => access.principalNamed(username),
      rules: () => rulesInForce(live),
      identities: { ...access, names: access.orchestratorNames },
      checkWorkflow: (given) => workflows.check(given),
      routes: allRoutes,
    }),
    ...auditRoutes(auditReader),
    ...statisticsRoutes({ runs, ...statistics }),
    ...operationsRoutes({ ...operations, adapterStates: () => live.adapters().states() }),
    ...reloadRoutes(reload),
  ];
}

function rulesInForce(live: LiveParts): CallRules {
  return {
    customRoles: live.customRoles(),
    approvalRules: live.approvalRules(),
    adapters: live.adapters().all(),
    refusal: (url) => live.outbound().refusal(url),
  };
}
