import type { ClientBase } from 'pg';
import type { Secret } from '#base/secret.ts';
import { readPostgresUrl } from '#base/text/postgres-url.ts';
import { storeUnavailable } from './store-failure.ts';

/** Milliseconds for a connection and its first statement. With several hosts, one that does not answer leaves time for the others. */
const patience = { one: 5_000, several: 2_000 } as const;

/**
 * The hosts of `store.url`, and which of them the next connection tries. It stays the same until a connection fails there, or finds that it
 * can only be read.
 */
export class PostgresHosts {
  /** How many there are. */
  readonly count: number;
  /** Milliseconds for a connection to one of them, and for each statement before it is used. */
  readonly patience: number;
  /** The URL asks for a host that takes writes. */
  readonly needsPrimary: boolean;
  readonly #secret: Secret;
  /** The value that was read last, and its URLs. */
  #value: string;
  #urls: readonly string[];
  #current = 0;

  constructor(url: Secret) {
    const read = readPostgresUrl(url.reveal());
    if (typeof read === 'string')
      throw storeUnavailable('no valid URL', `PostgreSQL cannot be used: check store.url, which ${read}.`);
    this.#secret = url;
    this.#value = url.reveal();
    this.#urls = read.urls;
    this.needsPrimary = read.needsPrimary;
    this.count = read.urls.length;
    this.patience = this.count === 1 ? patience.one : patience.several;
  }

  /** For `leave`. */
  get current(): number {
    return this.#current;
  }

  /** Has one host, and may have a password: the present one. */
  get url(): string {
    this.#follow();
    return this.#urls[this.#current] ?? '';
  }

  /** After a failed login with `used`. True if there is another URL now. */
  async renew(used: string): Promise<boolean> {
    await this.#secret.renew();
    return this.url !== used;
  }

  /** A new value of the same servers and database is in force at once. Only a restart takes another store. */
  #follow(): void {
    const value = this.#secret.reveal();
    if (value === this.#value) return;
    this.#value = value;
    const read = readPostgresUrl(value);
    if (typeof read !== 'string' && placesOf(read.urls) === placesOf(this.#urls)) this.#urls = read.urls;
  }

  /** A connection to this host failed: the next one tries the host after it, unless another connection has left this one already. */
  leave(host: number): void {
    if (this.#current === host) this.#current = (host + 1) % this.count;
  }

  /** Rejects on a host that takes no writes, where the URL asks for one. */
  async check(client: ClientBase): Promise<void> {
    if (!this.needsPrimary) return;
    const statement = { text: 'show transaction_read_only', query_timeout: this.patience };
    const { rows } = await client.query<{ readonly transaction_read_only: string }>(statement);
    if (rows[0]?.transaction_read_only !== 'off') throw new Error(readOnly);
  }
}

function placesOf(urls: readonly string[]): string {
  return urls
    .map((url) => URL.parse(url))
    .map((url) => `${url?.host}${url?.pathname}`)
    .join();
}

/** SQLSTATE of a failed login. */
export function isLoginFailure(code: string | undefined): boolean {
  return code === '28P01' || code === '28000';
}

/** The message of `check`. */
export const readOnly = 'read-only';
