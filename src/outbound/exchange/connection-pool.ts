import type { Socket } from 'node:net';
import { systemClock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Connect } from '../dialling/connector.ts';
import { type ConnectionOwner, UpstreamConnection } from './upstream-connection.ts';

export interface PoolFigures {
  readonly busy: number;
  readonly idle: number;
  readonly waiting: number;
}

/** Exactly one of `begin` and `failed` is called, once, unless it ends before. */
export interface WaitingRequest {
  readonly origin: string;
  readonly caller: string | undefined;
  /** Must not be sent any more. */
  readonly isEnded: boolean;
  begin(connection: UpstreamConnection): void;
  failed(reason: Error): void;
}

/** Milliseconds: `usual`, or what Keep-Alive of the upstream says, up to `max`. */
export interface IdleTime {
  readonly usual: number;
  readonly max: number;
}

/** Milliseconds before the announced time: a request may take that long to arrive. */
const margin = 2_000;

/** Milliseconds. No request uses such a connection between sweeps. */
const sweepEach = 500;

/** By origin and caller, without a limit. A request takes the connection used last, or a new one, after `setImmediate`: by then the end of a connection was seen. */
export class ConnectionPool implements ConnectionOwner {
  readonly #connect: Connect;
  readonly #idleTime: IdleTime;
  readonly #open = new Set<UpstreamConnection>();
  /** By `keyOf`, the one used last at the end. */
  readonly #idle = new Map<string, IdleConnection[]>();
  #idleCount = 0;
  #waiting = 0;
  #sweeper: NodeJS.Timeout | undefined;
  #closed: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
  constructor(connect: Connect, idleTime: IdleTime) {
    this.#connect = connect;
    this.#idleTime = idleTime;
  }

  send(request: WaitingRequest): void {
    if (this.#closed !== undefined) {
      request.failed(new Error('the pool is closed'));
      return;
    }
    this.#waiting += 1;
    setImmediate(() => void this.#begin(request));
  }

  get figures(): PoolFigures {
    const busy = this.#open.size - this.#idleCount;
    return { busy, idle: this.#idleCount, waiting: this.#waiting };
  }

  /** Resolves once all requests and connections have ended. */
  async close(): Promise<void> {
    this.#closed ??= Promise.withResolvers();
    for (const { connection } of [...this.#idle.values()].flat()) connection.destroy();
    this.#closeIfEmpty();
    await this.#closed.promise;
  }

  freed(connection: UpstreamConnection, keptFor: number | undefined): void {
    const { usual, max } = this.#idleTime;
    const time = keptFor === undefined ? usual : Math.min(keptFor - margin, max);
    if (time <= 0 || this.#closed !== undefined) {
      connection.destroy();
      return;
    }
    const key = keyOf(connection);
    const idle = this.#idle.get(key);
    const entry = { connection, until: systemClock.monotonic() + time };
    if (idle === undefined) this.#idle.set(key, [entry]);
    else idle.push(entry);
    this.#idleCount += 1;
    this.#sweeper ??= setInterval(() => this.#sweep(), sweepEach).unref();
  }

  closed(connection: UpstreamConnection): void {
    this.#open.delete(connection);
    this.#forget(connection);
    this.#closeIfEmpty();
  }

  #takeIdle(key: string): UpstreamConnection | undefined {
    const idle = this.#idle.get(key);
    if (idle === undefined) return undefined;
    const now = systemClock.monotonic();
    for (let entry = idle.pop(); entry !== undefined; entry = idle.pop()) {
      this.#idleCount -= 1;
      if (entry.until > now && entry.connection.usable) return entry.connection;
      entry.connection.destroy();
    }
    return undefined;
  }

  async #begin(request: WaitingRequest): Promise<void> {
    try {
      if (request.isEnded) return;
      const connection = this.#takeIdle(keyOf(request)) ?? (await this.#openConnection(request));
      if (request.isEnded) this.freed(connection, undefined);
      else request.begin(connection);
    } catch (error) {
      request.failed(error instanceof Error ? error : new Error('no connection', { cause: error }));
    } finally {
      this.#waiting -= 1;
      this.#closeIfEmpty();
    }
  }

  async #openConnection(request: WaitingRequest): Promise<UpstreamConnection> {
    const connection = new UpstreamConnection(request, unspoken(await this.#connect(request.origin)), this);
    this.#open.add(connection);
    return connection;
  }

  /** `closed` forgets them. */
  #sweep(): void {
    const now = systemClock.monotonic();
    for (const { connection, until } of [...this.#idle.values()].flat()) if (until <= now) connection.destroy();
    if (this.#idleCount > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  #forget(connection: UpstreamConnection): void {
    const key = keyOf(connection);
    const idle = this.#idle.get(key);
    if (idle === undefined) return;
    const rest = idle.filter((entry) => entry.connection !== connection);
    this.#idleCount -= idle.length - rest.length;
    if (rest.length === 0) this.#idle.delete(key);
    else this.#idle.set(key, rest);
  }

  #closeIfEmpty(): void {
    if (this.#closed === undefined || this.#open.size + this.#waiting > 0) return;
    this.#closed.resolve();
  }
}

/** An origin has no blank. */
function keyOf({ origin, caller }: Pick<WaitingRequest, 'origin' | 'caller'>): string {
  return caller === undefined ? origin : `${origin} ${caller}`;
}

/** The upstream sent bytes before a request, or closed again. */
function unspoken(socket: Socket): Socket {
  const early = socket.readableLength > 0;
  if (!early && socket.writable) return socket;
  socket.destroy();
  if (early) throw new GatewayError('upstream-protocol-error', 'The upstream sent something before it was asked for anything.');
  throw new GatewayError('upstream-connect-failed', 'The upstream closed the connection at once.');
}

interface IdleConnection {
  readonly connection: UpstreamConnection;
  /** By the monotonic clock. */
  readonly until: number;
}
