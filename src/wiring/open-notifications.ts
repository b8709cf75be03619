import type { AdapterInstances } from '#adapters/adapter-instances.ts';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import { createKeptFigures } from '#base/timing/kept-figures.ts';
import type { Config } from '#config/config.ts';
import type { Database } from '#database/database.ts';
import { announceAdapters } from '#notifications/adapter-announcer.ts';
import { createAdapterHealthStore } from '#notifications/adapter-health-store.ts';
import { receiversOf } from '#notifications/notification.ts';
import { createNotificationCatalogue, type NotificationCatalogue } from '#notifications/notification-catalogue.ts';
import { createNotificationStore } from '#notifications/notification-store.ts';
import { createNotifier } from '#notifications/notifier.ts';
import { createWebhooks, webhookTimeouts } from '#notifications/webhook.ts';
import { createSender } from '#outbound/call/sender.ts';
import { createConnector } from '#outbound/dialling/connector.ts';
import type { Resolve } from '#outbound/dialling/resolver.ts';
import type { RunStore } from '#runs/journal/run-store.ts';
import type { WatchPool } from '#telemetry/gauges.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import { createNotificationMetrics, measureNotifications } from '#telemetry/notification-metrics.ts';
import { createExpressionPool } from '#workflows/jq/expression-pool.ts';

interface OpenNotificationsOptions {
  readonly config: Config;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly pooled: WatchPool;
  readonly resolve: Resolve;
  readonly userAgent: string;
  readonly events: Pick<RunStore, 'onChange' | 'publish'>;
  readonly adapters: () => AdapterInstances;
}

export interface NotificationParts {
  readonly catalogue: NotificationCatalogue;
  /** Puts the receivers of a new configuration in force. */
  follow(next: Config): void;
}

/** Notifications to receivers, and the events of adapter instances. The addresses are the operator's own, as those of issuers are. */
export function openNotifications(started: AsyncDisposableStack, options: OpenNotificationsOptions): NotificationParts {
  const { config, database, clock, log, metrics, pooled, resolve, userAgent, events, adapters } = options;
  const connect = createConnector({ resolve, timeouts: webhookTimeouts });
  const sender = started.adopt(pooled({ pool: 'notifications' }, createSender({ connect })), (opened) => opened.close());
  // Of its own: expressions of workflows must not delay a pager.
  const expressions = started.adopt(createExpressionPool({ threads: 1 }), (pool) => pool.close());
  const store = createNotificationStore({ database, clock });
  const notifier = createNotifier({
    store,
    send: createWebhooks({ sender, expressions, clock, userAgent }),
    clock,
    log,
    watcher: createNotificationMetrics(metrics.registry),
    onEvents: (listener) =>
      events.onChange(({ kind }) => {
        if (kind !== 'run') listener();
      }),
  });
  started.adopt(notifier, (running) => running.stop());
  const announcing = announceAdapters({
    health: createAdapterHealthStore(database),
    adapters: () => adapters().all(),
    publish: (told) => events.publish(told),
    clock,
    log,
  });
  started.adopt(announcing, (running) => running.stop());
  let receivers = receiversOf(config.notifications);
  notifier.use(receivers);
  const catalogue = createNotificationCatalogue({ store, receivers: () => receivers });
  measureNotifications(metrics.registry, createKeptFigures({ ask: () => catalogue.receivers(), clock }), () => clock.now());
  return {
    catalogue,
    follow(next) {
      receivers = receiversOf(next.notifications);
      notifier.use(receivers);
    },
  };
}
