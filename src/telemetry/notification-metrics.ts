import type { Registry } from 'prom-client';
import type { KeptFigures } from '#base/timing/kept-figures.ts';
import type { ShownReceiver } from '#notifications/notification-catalogue.ts';
import type { NotificationWatcher } from '#notifications/receiver-channel.ts';
import { gauge } from './gauges.ts';
import { counter } from './observers.ts';

const outcomes = ['delivered', 'failed', 'gone'] as const;

/** Counts the attempts of this gateway. */
export function createNotificationMetrics(registry: Registry): NotificationWatcher {
  const attempts = counter(
    registry,
    'gateway_notification_attempts_total',
    'Attempts of this gateway to deliver a notification: `delivered`, `failed`, or `gone` (410). `receiver` is host and port of its address.',
    { receiver: [], outcome: outcomes },
  );
  const failed = counter(registry, 'gateway_notifications_failed_total', 'Notifications whose every attempt failed.', {
    receiver: [],
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

/** Gauges of the receivers in force, of all gateways on the store. They have no value while it gives no answer for a minute. */
export function measureNotifications(
  registry: Registry,
  receivers: KeptFigures<readonly ShownReceiver[]>,
  now: () => number,
): void {
  const ofReceivers = (name: string, help: string, valueOf: (receiver: ShownReceiver) => number): void =>
    gauge(registry, { name, help, labels: ['receiver'] }, async () =>
      ((await receivers()) ?? []).map((receiver) => [{ receiver: receiver.name }, valueOf(receiver)]),
    );
  ofReceivers(
    'gateway_notifications_waiting',
    'Notifications of all gateways on the store that wait for their delivery. At most five seconds old, and absent while the store gives no answer for a minute.',
    ({ waiting }) => waiting,
  );
  ofReceivers(
    'gateway_notification_age_seconds',
    'Age of the oldest notification that waits; 0 where none does.',
    ({ oldestWaiting }) => (oldestWaiting === undefined ? 0 : Math.max(0, now() - oldestWaiting) / 1_000),
  );
  ofReceivers(
    'gateway_notification_receiver_gone',
    '1 for a receiver that answered 410: it gets nothing until the next reload.',
    ({ state }) => Number(state === 'gone'),
  );
}
