import { Client } from 'pg';
import type { Log } from '#base/log.ts';
import type { Secret } from '#base/secret.ts';
import { systemCode } from '#base/system-code.ts';
import { randomHex } from '#base/text/random-hex.ts';
import { inTime } from '#base/timing/in-time.ts';
import { type NotificationListener, type Notifications, notifyIn } from '../notifications.ts';
import { isLoginFailure, PostgresHosts } from '../postgres-hosts.ts';

/** Milliseconds before the first try to connect again; each later one waits twice as long, up to the limit. */
const firstDelay = 100;
const maxDelay = 10_000;
/** Milliseconds for an answer to `listen`, and for a notification that the gateway sends itself. */
const patience = 5_000;
/** Milliseconds before the next try where no notification arrives. */
const triesAgainAfter = 60_000;
/** Each gateway notifies itself here, to see whether notifications arrive. */
const channelOfProbes = 'orchestration_gateway_probe';
/** Milliseconds without a packet before the system asks whether the server is there. It asks for about ten seconds. */
const keepAliveAfter = 10_000;

export interface PostgresNotificationsOptions {
  readonly url: Secret;
  /** Sends a text on another connection. */
  readonly send: (channel: string, payload: string) => Promise<void>;
  readonly log: Log;
}

/**
 * One connection for all channels, from the first `listen` on. A pooler that lends a connection for a transaction (PgBouncer, `transaction`)
 * delivers no notifications. So each new connection has to receive one; the log says where none arrives.
 */
export class PostgresNotifications implements Notifications {
  readonly notify = notifyIn;
  readonly #hosts: PostgresHosts;
  readonly #send: PostgresNotificationsOptions['send'];
  readonly #log: Log;
  readonly #listeners = new Map<string, Set<NotificationListener>>();
  #client: Client | undefined;
  #retry: NodeJS.Timeout | undefined;
  #delay = firstDelay;
  #closed = false;
  #arrives = true;

  constructor({ url, send, log }: PostgresNotificationsOptions) {
    this.#hosts = new PostgresHosts(url);
    this.#send = send;
    this.#log = log;
  }

  listen(channel: string, listener: NotificationListener): () => void {
    const known = this.#listeners.get(channel);
    if (known === undefined) {
      this.#listeners.set(channel, new Set([listener]));
      // The next connection listens to the new channel too.
      if (this.#client === undefined) this.#start();
      else this.#leave(this.#client);
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
    const host = this.#hosts.current;
    const { url } = this.#hosts;
    const client = newClient(url, this.#hosts.patience);
    // A file that the URL names is gone.
    if (client === undefined) return this.#startLater();
    this.#client = client;
    client.on('error', () => this.#lose(client));
    client.on('end', () => this.#lose(client));
    const channels = new Map<string, string>();
    client.on('notification', ({ channel, payload = '' }) => {
      for (const listener of this.#listeners.get(channels.get(channel) ?? '') ?? []) listener.received(payload);
    });
    try {
      await client.connect();
      await this.#hosts.check(client);
      for (const channel of this.#listeners.keys()) channels.set(await listenOn(client, channel), channel);
      await listenOn(client, channelOfProbes);
    } catch (error) {
      if (isLoginFailure(systemCode(error)) && (await this.#hosts.renew(url))) this.#delay = firstDelay;
      else this.#hosts.leave(host);
      this.#lose(client);
    }
    if (this.#client !== client) return;
    this.#delay = firstDelay;
    for (const listener of [...this.#listeners.values()].flatMap((set) => [...set])) listener.missed();
    await this.#probe(client);
  }

  /** Sees whether a notification arrives, and gives the connection up where none does. */
  async #probe(client: Client): Promise<void> {
    const probe = randomHex(8);
    const { promise: arrived, resolve } = Promise.withResolvers<boolean>();
    client.on('notification', ({ payload }) => {
      if (payload === probe) resolve(true);
    });
    client.on('end', () => resolve(true));
    try {
      await this.#send(channelOfProbes, probe);
    } catch {
      // The store is away, as its own log says.
      return;
    }
    const arrives = await inTime(arrived, patience, () => false);
    if (this.#client !== client) return;
    if (this.#arrives && !arrives) {
      const reason = 'store.url leads to a pooler that lends connections for one transaction; use session pooling';
      this.#log.warn('PostgreSQL delivers no notifications: the gateway looks for changes itself, which is slower', { reason });
    }
    if (!this.#arrives && arrives) this.#log.info('PostgreSQL delivers notifications');
    this.#arrives = arrives;
    if (arrives) return;
    this.#delay = triesAgainAfter;
    this.#leave(client);
  }

  #lose(client: Client): void {
    if (this.#client !== client) return;
    this.#leave(client);
    for (const listener of [...this.#listeners.values()].flatMap((set) => [...set])) listener.lost?.();
  }

  /** Connects again. */
  #leave(client: Client): void {
    this.#client = undefined;
    client.end().catch(() => {});
    if (!this.#closed) this.#startLater();
  }

  #startLater(): void {
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#start();
    }, this.#delay);
    this.#retry.unref();
    this.#delay = Math.min(2 * this.#delay, maxDelay);
  }
}

function newClient(url: string, limit: number): Client | undefined {
  try {
    return new Client({
      connectionString: url,
      application_name: 'orchestration-gateway notifications',
      connectionTimeoutMillis: limit,
      query_timeout: patience,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveAfter,
    });
  } catch {
    return undefined;
  }
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
