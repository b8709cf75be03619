import { type Kysely, sql, type Transaction } from 'kysely';
import type { Tables } from './tables/tables.ts';

export interface NotificationListener {
  /** Another transaction, of this gateway or of another one, was committed with this text. */
  received(payload: string): void;
  /** The connection was made, for the first time or after a fault: before, notifications may have been lost. */
  missed(): void;
  /** The connection ended: the server may have, and another one may answer next. */
  lost?(): void;
}

/**
 * What gateways on one store tell each other with a commit. On SQLite nothing arrives: one process has the store. Notifications make a
 * gateway fast. It must also work without them, because some are lost while a connection is away.
 */
export interface Notifications {
  /** Listens until the function that it answers is called. */
  listen(channel: string, listener: NotificationListener): () => void;
  /** Sends texts of at most 7,999 bytes when the transaction commits. */
  notify(transaction: Transaction<Tables>, channel: string, payloads: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

export const noNotifications: Notifications = {
  listen: () => () => {},
  notify: async () => {},
  close: async () => {},
};

/** The channels of a PostgreSQL database belong to all its schemas; ours belong to one. At most 30 characters. */
const channelName = (channel: string) => sql<string>`(${channel}::text || '_' || md5(current_schema()))`;

export async function notifyIn(transaction: Kysely<Tables>, channel: string, payloads: readonly string[]): Promise<void> {
  if (payloads.length === 0) return;
  await sql`select pg_notify(${channelName(channel)}, payload)
    from json_array_elements_text(${JSON.stringify(payloads)}::json) as sent(payload)`.execute(transaction);
}
