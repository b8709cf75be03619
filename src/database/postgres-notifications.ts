import { Client } from 'pg';
import type { Secret } from '#base/secret.ts';
import { type NotificationListener, type Notifications, notifyIn } from './notifications.ts';

/** Milliseconds before the first try to connect again; each later one waits twice as long, up to the limit. */
const firstDelay = 100;
const longestDelay = 10_000;
/** Milliseconds for a connection, and for an answer to `listen`. */
const patience = 5_000;
/** Milliseconds without a packet before the system asks whether the server is there. It asks for about ten seconds. */
const keepAliveAfter = 10_000;

/**
 * One connection for all channels, from the first `listen` on. A pooler that lends a connection for a transaction (PgBouncer, `transaction`)
 * delivers no notifications.
 */
export class PostgresNotifications implements Notifications {
  readonly notify = notifyIn;
  readonly #url: Secret;
  readonly #listeners = new Map<string, Set<NotificationListener>>();
  #client: Client | undefined;
  #retry: NodeJS.Timeout | undefined;
  #delay = firstDelay;
  #closed = false;

  constructor(url: Secret) {
    this.#url = url;
  }

  listen(channel: string, listener: NotificationListener): () => void {
    const known = this.#listeners.get(channel);
    if (known === undefined) {
      this.#listeners.set(channel, new Set([listener]));
      // The next connection listens to the new channel too.
      if (this.#client === undefined) this.#start();
      else this.#lose(this.#client);
    } else known.add(listener);
    return () => void this.#listeners.get(channel)?.delete(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    // `connect` of a client that is ended meanwhile never settles, so no one waits for it.
    const open = this.#client;
    this.#client = undefined;
    await open?.end().catch(() => {});
  }

  #start(): void {
    if (this.#closed || this.#client !== undefined || this.#retry !== undefined) return;
    void this.#connect();
  }

  async #connect(): Promise<void> {
    const client = newClient(this.#url);
    this.#client = client;
    client.on('error', () => this.#lose(client));
    client.on('end', () => this.#lose(client));
    const channels = new Map<string, string>();
    client.on('notification', ({ channel, payload = '' }) => {
      for (const listener of this.#listeners.get(channels.get(channel) ?? '') ?? []) listener.received(payload);
    });
    try {
      await client.connect();
      for (const channel of this.#listeners.keys()) channels.set(await listenOn(client, channel), channel);
    } catch {
      this.#lose(client);
    }
    if (this.#client !== client) return;
    this.#delay = firstDelay;
    for (const listener of [...this.#listeners.values()].flatMap((set) => [...set])) listener.missed();
  }

  #lose(client: Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    client.end().catch(() => {});
    if (this.#closed) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#start();
    }, this.#delay);
    this.#retry.unref();
    this.#delay = Math.min(2 * this.#delay, longestDelay);
  }
}

function newClient(url: Secret): Client {
  return new Client({
    connectionString: url.reveal(),
    application_name: 'orchestration-gateway notifications',
    connectionTimeoutMillis: patience,
    query_timeout: patience,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfter,
  });
}

/** Answers the name of the channel on the server: see `channelName`. */
async function listenOn(client: Client, channel: string): Promise<string> {
  const { rows } = await client.query<{ readonly name: string }>("select $1::text || '_' || md5(current_schema()) as name", [
    channel,
  ]);
  const name = rows[0]?.name ?? channel;
  await client.query(`listen ${client.escapeIdentifier(name)}`);
  return name;
}
