import { createAccess } from '#access/access.ts';
import { createAdapterInstance } from '#adapters/adapter-instance.ts';
import { type AdapterInstances, createAdapterInstances } from '#adapters/adapter-instances.ts';
import { adapterKinds } from '#adapters/adapter-kinds.ts';
import type { AdapterAuthentication } from '#adapters/authentication.ts';
import { createAutomationCatalogue } from '#automations/automation-catalogue.ts';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import type { AdapterConfig, Config } from '#config/config.ts';
import { createMetrics } from '#http/metrics.ts';
import { createPressure } from '#http/pressure.ts';
import { createPressureGauge, type ProcessMemory } from '#http/pressure-gauge.ts';
import { createRateLimit, type RateLimit } from '#http/rate-limit.ts';
import { auditRoutes } from '#http/routes/audit-routes.ts';
import { automationRoutes } from '#http/routes/automation-routes.ts';
import { documentationRoutes } from '#http/routes/documentation-routes.ts';
import { operationsRoutes } from '#http/routes/operations-routes.ts';
import { relayRoutes } from '#http/routes/relay-routes.ts';
import { sessionRoutes } from '#http/routes/session-routes.ts';
import { createHttpServer } from '#http/server.ts';
import { createConnector, refuseBeforeLookup } from '#outbound/connector.ts';
import { createDestinationPolicy } from '#outbound/destination-policy.ts';
import { fetchDocument } from '#outbound/document.ts';
import { createResolver } from '#outbound/resolver.ts';
import { createSender, type Sender } from '#outbound/sender.ts';
import { restCall } from '#relay/rest-call.ts';
import { openStore } from './open-store.ts';

/** A gateway that runs. */
export interface Gateway {
  /** Where it listens, such as `http://127.0.0.1:3000`. */
  readonly url: string;
  /** Accepts no more, lets calls in flight finish, closes everything. */
  stop(): Promise<void>;
}

/** Wires the parts together and starts them; the only place that knows them all. Rejects where the store or the port cannot be had. */
export async function startGateway(options: {
  readonly config: Config;
  readonly log: Log;
  readonly clock: Clock;
  readonly version: string;
  /** Of this process. */
  readonly memory: ProcessMemory;
}): Promise<Gateway> {
  const { config, log, clock, version } = options;
  const userAgent = `orchestration-gateway/${version}`;
  // Whatever was started is closed again, last first: where a later step fails, or when the gateway stops.
  await using started = new AsyncDisposableStack();
  const { database, audit, auditReader } = await openStore(started, options);
  // Names that callers choose may be slow on purpose: those that the operator chose are looked up in a lane of their own.
  const resolve = createResolver({ concurrency: 2 });
  const resolveForCallers = createResolver({ concurrency: 6 });
  const adapters = started.adopt(createAdapters(config.adapters, { resolve, clock }), (created) => created.close());
  const connectToIssuers = createConnector({ resolve, timeouts: documentTimeouts });
  const documents = started.adopt(createSender({ connect: connectToIssuers }), (sender) => sender.close());
  const access = await createAccess({
    config: config.access,
    database,
    clock,
    log,
    fetchDocument: (url) => fetchDocument({ url, sender: documents, clock, timeouts: documentTimeouts, userAgent }),
    secureCookies: config.server.tls !== undefined,
  });
  started.defer(() => access.close());
  const { outbound } = config;
  const policy = createDestinationPolicy({ ...outbound, ownListeners: () => server.listeners() });
  const refuseDenied = (url: URL): void => refuseBeforeLookup(policy, url);
  const connectByPolicy = createConnector({ ...outbound, resolve: resolveForCallers, policy });
  const outboundSender = started.adopt(createSender({ connect: connectByPolicy }), (sender) => sender.close());
  const metrics = createMetrics(() => audit.counts());
  const gauge = createPressureGauge(options.memory);
  const pressure = started.adopt(createPressure({ gauge, log }), (measured) => measured.close());
  const catalogue = createAutomationCatalogue({ database, clock });
  const served = [
    ...relayRoutes({
      adapters: () => adapters,
      restCall: (request, context) =>
        restCall({ request, context, limits: outbound, refuseDenied, sender: outboundSender, userAgent }),
      userAgent,
    }),
    ...automationRoutes(catalogue),
    ...sessionRoutes(access),
    ...auditRoutes(auditReader),
    ...operationsRoutes({
      openMetrics: config.server.openMetrics,
      metrics,
      pingStore: () => database.ping(),
      isOverloaded: () => pressure.overloaded,
      adapterStates: () => adapters.states(),
    }),
  ];
  const routes = [...served, ...documentationRoutes({ routes: served, version })];
  const rateLimit = rateLimitOf(config, clock);
  const server = createHttpServer({ server: config.server, routes, access, clock, log, metrics, audit, pressure, rateLimit });
  started.defer(() => server.close());
  const url = await server.listen();
  const running = started.move();
  return { url, stop: () => running.disposeAsync() };
}

function rateLimitOf({ server: { rateLimit } }: Config, clock: Clock): RateLimit | undefined {
  return rateLimit === undefined ? undefined : createRateLimit({ ...rateLimit, clock });
}

/** For what an OIDC issuer publishes; milliseconds. */
const documentTimeouts = { dns: 3_000, connect: 5_000, firstByte: 5_000, idle: 5_000, total: 10_000 };

function createAdapters(
  configured: readonly AdapterConfig[],
  shared: { readonly resolve: ReturnType<typeof createResolver>; readonly clock: Clock },
): AdapterInstances {
  return createAdapterInstances(
    configured.map((adapter) =>
      createAdapterInstance({
        kind: adapterKinds[adapter.kind],
        instance: { ...adapter, auth: authentication(adapter.auth) },
        sender: adapterSender(adapter, shared.resolve),
        clock: shared.clock,
      }),
    ),
  );
}

function adapterSender(adapter: AdapterConfig, resolve: ReturnType<typeof createResolver>): Sender {
  return createSender({ connect: createConnector({ ...adapter, resolve }) });
}

/** The configuration's loader has refused the types that are not built yet. */
function authentication(auth: AdapterConfig['auth']): AdapterAuthentication {
  if (auth.type === 'token' || auth.type === 'oauth2')
    throw new Error(`authentication of type ${auth.type} is not supported yet`);
  return auth;
}
