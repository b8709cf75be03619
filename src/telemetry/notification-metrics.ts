import { Counter, type Registry } from 'prom-client';
import type { ShownReceiver } from '#notifications/notification-catalogue.ts';
import type { NotificationWatcher } from '#notifications/receiver-channel.ts';
import { gauge } from './gauges.ts';

const outcomes = ['delivered', 'failed', 'gone'] as const;

/** Counts the attempts of this gateway. */
export function createNotificationMetrics(registry: Registry): NotificationWatcher {
  const attempts = new Counter({
    name: 'gateway_notification_attempts_total',
    help: 'Attempts to deliver a notification, by receiver and outcome.',
    labelNames: ['receiver', 'outcome'],
    registers: [registry],
  });
  const failed = new Counter({
    name: 'gateway_notifications_failed_total',
    help: 'Notifications whose every attempt failed, by receiver.',
    labelNames: ['receiver'],
    registers: [registry],
  });
  return {
    expect(receivers) {
      for (const receiver of receivers) {
        for (const outcome of outcomes) attempts.inc({ receiver, outcome }, 0);
        failed.inc({ receiver }, 0);
      }
    },
    attempted: (receiver, outcome) => attempts.inc({ receiver, outcome }),
    gaveUp: (receiver) => failed.inc({ receiver }),
  };
}

/** Gauges of the receivers in force, of all gateways on the store. They have no value while the store does not answer. */
export function measureNotifications(
  registry: Registry,
  receivers: () => Promise<readonly ShownReceiver[]>,
  now: () => number,
): void {
  let asked: Promise<readonly ShownReceiver[]> | undefined;
  /** One question for the gauges of a scrape. */
  const shown = (): Promise<readonly ShownReceiver[]> => {
    asked ??= receivers()
      .catch(() => [])
      .finally(() => (asked = undefined));
    return asked;
  };
  const ofReceivers = (name: string, help: string, valueOf: (receiver: ShownReceiver) => number): void =>
    gauge(registry, { name, help, labels: ['receiver'] }, async () =>
      (await shown()).map((receiver) => [{ receiver: receiver.name }, valueOf(receiver)]),
    );
  ofReceivers(
    'gateway_notifications_waiting',
    'Notifications that wait for their delivery, by receiver.',
    ({ waiting }) => waiting,
  );
  ofReceivers(
    'gateway_notification_age_seconds',
    'Age of the oldest notification that waits, by receiver; 0 where none does.',
    ({ oldestWaiting }) => (oldestWaiting === undefined ? 0 : Math.max(0, now() - oldestWaiting) / 1_000),
  );
  ofReceivers(
    'gateway_notification_receiver_gone',
    '1 for a receiver that answered 410: it gets nothing until the next reload.',
    ({ state }) => Number(state === 'gone'),
  );
}
