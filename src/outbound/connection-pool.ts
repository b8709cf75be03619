import type { Socket } from 'node:net';
import { inCheckPhase } from '#base/check-phase.ts';
import { systemClock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Connect } from './connector.ts';
import { type ConnectionOwner, FarSideConnection } from './far-side-connection.ts';

/** What a pool of connections holds. */
export interface PoolFigures {
  readonly busy: number;
  readonly idle: number;
  /** Calls that wait for their connection to be made. */
  readonly waiting: number;
}

/** A request that waits for a connection. `begin` or `failed` is called, once. */
export interface WaitingRequest {
  readonly origin: string;
  /** Nobody wants it sent any more. */
  readonly over: boolean;
  begin(connection: FarSideConnection): void;
  failed(reason: Error): void;
}

/** Milliseconds that a connection may be idle: as it comes, and at most where the far side says how long it keeps it. */
export interface IdleTime {
  readonly usual: number;
  readonly most: number;
}

/** Milliseconds that a connection is given up before the far side says that it will be: so long may a request be on its way. */
const margin = 2_000;

/** Milliseconds between two looks for connections that have been idle for too long; none of those is used, whether they are gone or not. */
const sweepEach = 500;

/**
 * Connections to far sides by origin, without a limit of their own: each request has one for itself, the one that was in use last, or a new one.
 * A request is begun at the end of a turn of the event loop: what has come for the connection by then, an end above all, has been read.
 */
export class ConnectionPool implements ConnectionOwner {
  readonly #connect: Connect;
  readonly #idleTime: IdleTime;
  readonly #open = new Set<FarSideConnection>();
  /** By origin; the newest is the last. */
  readonly #idle = new Map<string, IdleConnection[]>();
  #idleCount = 0;
  #connecting = 0;
  #due: WaitingRequest[] = [];
  #sweeper: NodeJS.Timeout | undefined;
  #closed: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
  readonly #beginAll = (): void => {
    const due = this.#due;
    this.#due = [];
    for (const request of due) this.#begin(request);
    this.#settle();
  };

  constructor(connect: Connect, idleTime: IdleTime) {
    this.#connect = connect;
    this.#idleTime = idleTime;
  }

  send(request: WaitingRequest): void {
    if (this.#closed !== undefined) {
      request.failed(new Error('the pool is closed'));
      return;
    }
    if (this.#due.length === 0) inCheckPhase(this.#beginAll);
    this.#due.push(request);
  }

  get figures(): PoolFigures {
    const busy = this.#open.size - this.#idleCount;
    return { busy, idle: this.#idleCount, waiting: this.#connecting + this.#due.length };
  }

  /** Resolves once what is in flight has finished and every connection is closed. */
  async close(): Promise<void> {
    this.#closed ??= Promise.withResolvers();
    for (const { connection } of [...this.#idle.values()].flat()) connection.destroy();
    this.#settle();
    await this.#closed.promise;
  }

  freed(connection: FarSideConnection, keptFor: number | undefined): void {
    const { usual, most } = this.#idleTime;
    const time = keptFor === undefined ? usual : Math.min(keptFor - margin, most);
    if (time <= 0 || this.#closed !== undefined) {
      connection.destroy();
      return;
    }
    const idle = this.#idle.get(connection.origin);
    const entry = { connection, until: systemClock.monotonic() + time };
    if (idle === undefined) this.#idle.set(connection.origin, [entry]);
    else idle.push(entry);
    this.#idleCount += 1;
    this.#sweeper ??= setInterval(() => this.#sweep(), sweepEach).unref();
  }

  closed(connection: FarSideConnection): void {
    this.#open.delete(connection);
    this.#forget(connection);
    this.#settle();
  }

  #begin(request: WaitingRequest): void {
    if (request.over) return;
    const idle = this.#takeIdle(request.origin);
    if (idle === undefined) void this.#beginAnew(request);
    else request.begin(idle);
  }

  #takeIdle(origin: string): FarSideConnection | undefined {
    const idle = this.#idle.get(origin);
    if (idle === undefined) return undefined;
    const now = systemClock.monotonic();
    for (let entry = idle.pop(); entry !== undefined; entry = idle.pop()) {
      this.#idleCount -= 1;
      if (entry.until > now && entry.connection.usable) return entry.connection;
      entry.connection.destroy();
    }
    return undefined;
  }

  async #beginAnew(request: WaitingRequest): Promise<void> {
    this.#connecting += 1;
    try {
      const connection = new FarSideConnection(request.origin, unspoken(await this.#connect(request.origin)), this);
      this.#open.add(connection);
      if (request.over) this.freed(connection, undefined);
      else request.begin(connection);
    } catch (error) {
      request.failed(error instanceof Error ? error : new Error('no connection', { cause: error }));
    } finally {
      this.#connecting -= 1;
      this.#settle();
    }
  }

  /** Closes what has been idle for too long; once it is closed it is forgotten. */
  #sweep(): void {
    const now = systemClock.monotonic();
    for (const { connection, until } of [...this.#idle.values()].flat()) if (until <= now) connection.destroy();
    if (this.#idleCount > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  #forget(connection: FarSideConnection): void {
    const { origin } = connection;
    const idle = this.#idle.get(origin);
    if (idle === undefined) return;
    const rest = idle.filter((entry) => entry.connection !== connection);
    this.#idleCount -= idle.length - rest.length;
    if (rest.length === 0) this.#idle.delete(origin);
    else this.#idle.set(origin, rest);
  }

  #settle(): void {
    if (this.#closed === undefined || this.#open.size + this.#connecting + this.#due.length > 0) return;
    this.#closed.resolve();
  }
}

/** A far side that speaks before it is asked, or has gone again, is none for a request. */
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
