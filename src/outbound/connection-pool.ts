import type { Socket } from 'node:net';
import { systemClock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Connect } from './connector.ts';
import { type ConnectionOwner, FarSideConnection } from './far-side-connection.ts';

/** Connections of a pool, and calls that wait. */
export interface PoolFigures {
  readonly busy: number;
  readonly idle: number;
  /** Calls that wait for a connection. */
  readonly waiting: number;
}

/** A request that waits for a connection. Exactly one of `begin` and `failed` is called, once, unless it ends before. */
export interface WaitingRequest {
  readonly origin: string;
  /** See OutboundCall. */
  readonly caller: string | undefined;
  /** It ended while it waited, so it must not be sent. */
  readonly isEnded: boolean;
  begin(connection: FarSideConnection): void;
  failed(reason: Error): void;
}

/** Milliseconds that a connection may be idle: `usual`, or what the far side says in Keep-Alive, up to `most`. */
export interface IdleTime {
  readonly usual: number;
  readonly most: number;
}

/** Milliseconds by which a connection is closed before the time that the far side announced: a request may take that long to arrive. */
const margin = 2_000;

/** Milliseconds between two sweeps of connections that were idle too long. Between sweeps no request uses such a connection either. */
const sweepEach = 500;

/**
 * Connections to far sides by origin and caller, without a limit on their number. Each request has a connection for itself: the one that was
 * in use last, or a new one. A request begins in the check phase (`setImmediate`): by then the events of its connection in that iteration
 * are handled, above all its end.
 */
export class ConnectionPool implements ConnectionOwner {
  readonly #connect: Connect;
  readonly #idleTime: IdleTime;
  readonly #open = new Set<FarSideConnection>();
  /** By `keyOf`; the one in use last is at the end. */
  readonly #idle = new Map<string, IdleConnection[]>();
  #idleCount = 0;
  /** Requests that wait for their connection. */
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

  /** Resolves once all requests have ended and all connections are closed. */
  async close(): Promise<void> {
    this.#closed ??= Promise.withResolvers();
    for (const { connection } of [...this.#idle.values()].flat()) connection.destroy();
    this.#closeIfEmpty();
    await this.#closed.promise;
  }

  freed(connection: FarSideConnection, keptFor: number | undefined): void {
    const { usual, most } = this.#idleTime;
    const time = keptFor === undefined ? usual : Math.min(keptFor - margin, most);
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

  closed(connection: FarSideConnection): void {
    this.#open.delete(connection);
    this.#forget(connection);
    this.#closeIfEmpty();
  }

  #takeIdle(key: string): FarSideConnection | undefined {
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
      const connection = this.#takeIdle(keyOf(request)) ?? (await this.#connected(request));
      if (request.isEnded) this.freed(connection, undefined);
      else request.begin(connection);
    } catch (error) {
      request.failed(error instanceof Error ? error : new Error('no connection', { cause: error }));
    } finally {
      this.#waiting -= 1;
      this.#closeIfEmpty();
    }
  }

  async #connected(request: WaitingRequest): Promise<FarSideConnection> {
    const connection = new FarSideConnection(request, unspoken(await this.#connect(request.origin)), this);
    this.#open.add(connection);
    return connection;
  }

  /** Closes connections that were idle too long. `closed` then forgets them. */
  #sweep(): void {
    const now = systemClock.monotonic();
    for (const { connection, until } of [...this.#idle.values()].flat()) if (until <= now) connection.destroy();
    if (this.#idleCount > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  #forget(connection: FarSideConnection): void {
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

/** What two requests must have in common to use the same connection. An origin has no blank. */
function keyOf({ origin, caller }: Pick<WaitingRequest, 'origin' | 'caller'>): string {
  return caller === undefined ? origin : `${origin} ${caller}`;
}

/** Refuses a connection on which the far side sent bytes before a request, or that has closed again. */
function unspoken(socket: Socket): Socket {
  const early = socket.readableLength > 0;
  if (!early && socket.writable) return socket;
  socket.destroy();
  if (early) throw new GatewayError('upstream-protocol-error', 'The far side sent something before it was asked for anything.');
  throw new GatewayError('upstream-connect-failed', 'The far side closed the connection at once.');
}

interface IdleConnection {
  readonly connection: FarSideConnection;
  /** By the monotonic clock. */
  readonly until: number;
}
