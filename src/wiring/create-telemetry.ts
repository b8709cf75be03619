import type { AccessWatcher } from '#access/access-watcher.ts';
import type { Clock } from '#base/clock.ts';
import type { LimitReached } from '#base/limits.ts';
import type { Log } from '#base/log.ts';
import type { Tracing } from '#base/tracing.ts';
import type { Config } from '#config/config.ts';
import { expiryOf } from '#config/shapes/pem-shapes.ts';
import type { StoreWatcher } from '#database/watch-time.ts';
import { createSender } from '#outbound/call/sender.ts';
import { createConnector } from '#outbound/dialling/connector.ts';
import type { Resolve } from '#outbound/dialling/resolver.ts';
import type { RunWatcher } from '#runs/engine/run-watcher.ts';
import type { ScheduleWatcher } from '#runs/schedules/decide-due.ts';
import {
  type CertificateExpiry,
  createPoolGauges,
  createProcessGauges,
  measureCertificates,
  type ProcessMeasurements,
  type WatchPool,
} from '#telemetry/gauges.ts';
import { createMetrics, type Metrics } from '#telemetry/metrics.ts';
import { createAccessMetrics, createLimitMetrics, createSpanMetrics, createStoreMetrics } from '#telemetry/observers.ts';
import { openTracing } from '#telemetry/open-tracing.ts';
import { createRunMetrics, createScheduleMetrics } from '#telemetry/run-metrics.ts';

interface Telemetry {
  readonly metrics: Metrics;
  readonly accessWatcher: AccessWatcher;
  readonly storeWatcher: StoreWatcher;
  readonly runWatcher: RunWatcher;
  readonly scheduleWatcher: ScheduleWatcher;
  readonly limitReached: LimitReached;
  /** Follows the configuration in force. */
  readonly expiries: CertificateExpiries;
  /** Counts a sender's connections under that name. */
  readonly pooled: WatchPool;
  /** Registers gauges that read these measurements at each scrape. */
  measure(measurements: ProcessMeasurements): void;
  /** Resolves to undefined where the environment variables do not enable traces. */
  openTracing(resolve: Resolve): Promise<(Tracing & { close(): Promise<void> }) | undefined>;
}

interface TelemetryNeeds {
  readonly config: Pick<Config, 'adapters' | 'outbound' | 'server'>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** The metrics of the gateway in one registry, and traces where the environment variables enable them. */
export function createTelemetry(needs: TelemetryNeeds): Telemetry {
  const metrics = createMetrics();
  metrics.expectCalls(needs.config.adapters.map(({ name }) => name));
  const { registry } = metrics;
  const pooled = createPoolGauges(registry);
  const expiries = createCertificateExpiries(needs.config);
  measureCertificates(registry, expiries);
  const count = createSpanMetrics(registry);
  return {
    metrics,
    accessWatcher: createAccessMetrics(registry),
    storeWatcher: createStoreMetrics(registry),
    runWatcher: createRunMetrics(registry),
    scheduleWatcher: createScheduleMetrics(registry),
    limitReached: createLimitMetrics(registry),
    expiries,
    pooled,
    measure: (measurements) => createProcessGauges(registry, measurements),
    openTracing: (resolve) =>
      openTracing({
        ...needs,
        userAgent: `orchestration-gateway/${needs.version}`,
        count,
        createSender: (tls) => {
          const connect = createConnector({ resolve, timeouts: collectorTimeouts, tls: { ...tls, verify: true } });
          return pooled({ pool: 'traces' }, createSender({ connect }));
        },
      }),
  };
}

/** Milliseconds, for the connection to the trace collector. */
const collectorTimeouts = { dns: 3_000, connect: 5_000 };

type WithCertificates = Pick<Config, 'server' | 'outbound' | 'adapters'>;

/** When the certificates of the configuration in force expire. */
interface CertificateExpiries {
  (): readonly CertificateExpiry[];
  /** To be called with each new configuration. */
  follow(next: WithCertificates): void;
}

function createCertificateExpiries(config: WithCertificates): CertificateExpiries {
  let current = expiriesIn(config);
  return Object.assign(() => current, {
    follow(next: WithCertificates) {
      current = expiriesIn(next);
    },
  });
}

function expiriesIn({ server, outbound, adapters }: WithCertificates): readonly CertificateExpiry[] {
  return [
    ...filesOf('server', '', server.tls),
    ...filesOf('outbound', '', outbound.tls),
    ...adapters.flatMap(({ name, tls }) => filesOf('adapter', name, tls)),
  ];
}

function filesOf(
  use: CertificateExpiry['use'],
  adapter: string,
  { cert, ca }: { readonly cert?: string | undefined; readonly ca?: string | undefined } = {},
): readonly CertificateExpiry[] {
  const expiry = (file: CertificateExpiry['file'], pem: string | undefined): readonly CertificateExpiry[] =>
    pem === undefined ? [] : [{ use, adapter, file, expiresAt: expiryOf(pem, file) }];
  return [...expiry('certFile', cert), ...expiry('caFile', ca)];
}
