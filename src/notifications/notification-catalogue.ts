import type { Notification, NotificationStatus, Receiver } from './notification.ts';
import type { NotificationStore, ReceiverFigures } from './notification-store.ts';

/** A receiver as people see it: without its path, query and secret. */
export interface ShownReceiver extends Omit<ReceiverFigures, 'state'> {
  readonly name: string;
  /** `new`: no gateway has made it known to the store yet; it gets the events from then on. */
  readonly state: ReceiverFigures['state'] | 'new';
  readonly events: readonly string[];
}

export interface NotificationPage {
  readonly receivers: readonly ShownReceiver[];
  /** The newest first. `receiver` is a name. */
  readonly list: readonly Notification[];
  /** Where the next page begins; undefined where there is none. */
  readonly next: number | undefined;
}

/** The receivers in force, and what was sent to them. Every method rejects with `store-unavailable`. */
export interface NotificationCatalogue {
  receivers(): Promise<readonly ShownReceiver[]>;
  list(request: {
    /** The name of a receiver. */
    readonly receiver?: string | undefined;
    readonly status?: NotificationStatus | undefined;
    readonly limit: number;
    readonly before?: number | undefined;
  }): Promise<NotificationPage>;
}

export function createNotificationCatalogue({
  store,
  receivers: current,
}: {
  readonly store: Pick<NotificationStore, 'list' | 'figures'>;
  readonly receivers: () => readonly Receiver[];
}): NotificationCatalogue {
  const show = async (): Promise<readonly ShownReceiver[]> => {
    const receivers = current();
    const figures = await store.figures(receivers.map(({ id }) => id));
    return receivers.map(({ id, name, events }) => ({ name, events, ...(figures.get(id) ?? nothingYet) }));
  };
  return {
    receivers: show,
    async list({ receiver, status, limit, before }) {
      const known = current();
      const names = new Map(known.map(({ id, name }) => [id, name]));
      const asked = receiver === undefined ? known : known.filter(({ name }) => name === receiver);
      const filter = { receivers: asked.map(({ id }) => id), status };
      const found = await store.list(filter, { limit: limit + 1, before });
      const list = found.slice(0, limit).map((one) => ({ ...one, receiver: names.get(one.receiver) ?? '' }));
      return { receivers: await show(), list, next: found.length > limit ? list.at(-1)?.number : undefined };
    },
  };
}

const nothingYet = { state: 'new', waiting: 0, oldestWaiting: undefined } as const;
