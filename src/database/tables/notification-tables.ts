/** The tables of notifications: part `records` of the store, which has the event log. */
export interface NotificationTables {
  readonly notification_receiver: NotificationReceiverTable;
  readonly notification: NotificationTable;
  readonly adapter_health: AdapterHealthTable;
}

/** A receiver that a gateway has had in its configuration. */
interface NotificationReceiverTable {
  /** SHA-256 of its address, base64url. */
  readonly id: string;
  /** The last event that was looked at for it. */
  readonly position: number;
  /** When it answered that it is gone; null: it gets notifications. */
  readonly disabled_at: number | null;
}

/** One event for one receiver. */
interface NotificationTable {
  readonly number: number;
  readonly receiver: string;
  /** The number of the event. */
  readonly event: number;
  readonly webhook_id: string;
  readonly type: string;
  /** The CloudEvent as JSON text: the event log may forget it before it is delivered. */
  readonly body: string;
  readonly status: 'waiting' | 'delivered' | 'failed' | 'dropped';
  readonly attempts: number;
  readonly created_at: number;
  /** When the next attempt may begin; while one is under way, when another gateway may take over. Null: it is over. */
  readonly due_at: number | null;
  readonly ended_at: number | null;
  /** Of the last attempt: the status of the receiver, or the code of the error. */
  readonly last_status: number | null;
  readonly last_code: string | null;
  /** The lowest version that may act on it (row-version.ts). */
  readonly lowest: number;
}

/** What all gateways on the store have said of an adapter instance last. */
interface AdapterHealthTable {
  readonly adapter: string;
  /** 1: an event has said that it is down. */
  readonly is_down: number;
  /** The number of changes so far. */
  readonly changes: number;
}
