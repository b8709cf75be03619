import type { Socket } from 'node:net';
import { GatewayError } from '#base/gateway-error.ts';
import type { OutboundCall } from './outbound-call.ts';
import { ReplyReader, type ReplyTaker } from './reply-reader.ts';
import { certificateRefused } from './tls-failure.ts';

/** One request and its reply. The connection belongs to them until it calls `ended` or `failed`, exactly one of the two, once. */
export interface ConnectionUser extends ReplyTaker {
  /** Bytes of the reply arrived and the reader has read them; the reply is not complete yet. */
  unfinished(): void;
  /** The reply is complete. */
  ended(): void;
  failed(reason: Error): void;
}

/** Holds the connections that no request uses. */
export interface ConnectionOwner {
  /** The connection can take another request. `keptFor`: milliseconds for which the far side keeps it, where its reply said so. */
  freed(connection: FarSideConnection, keptFor: number | undefined): void;
  closed(connection: FarSideConnection): void;
}

/** One connection to a far side, for one request at a time. */
export class FarSideConnection {
  readonly origin: string;
  /** See OutboundCall. */
  readonly caller: string | undefined;
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #reader = new ReplyReader();
  #user: ConnectionUser | undefined;
  #paused = false;
  #last = false;

  /** `socket` is connected, and nothing has been read from it. */
  constructor({ origin, caller }: Pick<OutboundCall, 'origin' | 'caller'>, socket: Socket, owner: ConnectionOwner) {
    this.origin = origin;
    this.caller = caller;
    this.#socket = socket;
    this.#owner = owner;
    socket.on('data', (piece: Buffer) => this.#received(piece));
    socket.on('error', (error) => {
      this.#readBuffered();
      this.#broken(this.#translated(error));
    });
    socket.on('end', () => this.#ended());
    socket.on('close', () => {
      // The socket closed without 'end', so the reply is not known to be complete.
      if (this.#user !== undefined) this.#broken(closedEarly());
      owner.closed(this);
    });
    socket.resume();
  }

  /** False once the socket has ended or is ending. */
  get usable(): boolean {
    return this.#socket.writable;
  }

  /** Writes a request, once, and calls `user` with its reply. `last`: no other request may follow on this connection. */
  send(
    user: ConnectionUser,
    { head, body, last }: { readonly head: string; readonly body: Buffer | undefined; readonly last: boolean },
  ): void {
    this.#user = user;
    this.#last = last;
    this.#reader.expect();
    if (body === undefined) {
      this.#socket.write(head, 'latin1');
      return;
    }
    this.#socket.cork();
    this.#socket.write(head, 'latin1');
    this.#socket.write(body);
    this.#socket.uncork();
  }

  /** No other request may follow on this connection. */
  endAfterReply(): void {
    this.#last = true;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Stops reading until `resume`. The rest of the piece that is being read still reaches the user. */
  pause(): void {
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#socket.resume();
  }

  /** Closes the socket. Neither the user nor the reader is called after that. */
  destroy(): void {
    this.#user = undefined;
    this.#paused = false;
    this.#reader.stop();
    this.#socket.destroy();
  }

  /** Node reads up to 64 KiB into the queue of a paused socket, and would drop them when the far side resets it. */
  #readBuffered(): void {
    for (let piece: Buffer | null; (piece = this.#socket.read() as Buffer | null) !== null; ) this.#received(piece);
  }

  #received(piece: Buffer): void {
    const user = this.#user;
    if (user === undefined) {
      // No request is open: the bytes must not be taken for the reply to the next one.
      this.#socket.destroy();
      return;
    }
    try {
      this.#reader.read(piece, user);
    } catch (error) {
      this.#broken(error instanceof Error ? error : new Error('the reply could not be read', { cause: error }));
      return;
    }
    // The user may have destroyed the connection meanwhile.
    if (this.#user !== user) return;
    if (this.#reader.done) this.#endReply(user);
    else user.unfinished();
  }

  #endReply(user: ConnectionUser): void {
    const { reusable, keptFor } = this.#reader;
    const kept = reusable && !this.#last;
    this.#user = undefined;
    // The piece that made the user pause may also hold the end of the reply.
    if (kept) this.resume();
    else this.destroy();
    user.ended();
    // Over TLS Node reports that a request is written one iteration of the event loop later: the reply may arrive first.
    if (kept && this.#socket.writableLength > 0) setImmediate(() => this.#free(keptFor));
    else if (kept) this.#free(keptFor);
  }

  /** A request that is not fully written yet has its reply already: the far side may never read the rest. */
  #free(keptFor: number | undefined): void {
    if (this.usable && this.#socket.writableLength === 0) this.#owner.freed(this, keptFor);
    else this.destroy();
  }

  #ended(): void {
    const user = this.#user;
    if (user === undefined) this.destroy();
    else if (this.#reader.ends()) this.#endReply(user);
    else this.#broken(closedEarly());
  }

  #broken(reason: Error): void {
    const user = this.#user;
    this.destroy();
    user?.failed(reason);
  }

  /** A TLS alert about the gateway's client certificate becomes an error that says so. */
  #translated(error: NodeJS.ErrnoException): Error {
    if (error.code?.startsWith('ERR_SSL_') !== true) return error;
    const { hostname, port } = new URL(this.origin);
    return certificateRefused(error, this.#socket, `${hostname}:${port === '' ? '443' : port}`) ?? error;
  }
}

function closedEarly(): GatewayError {
  return new GatewayError('upstream-closed', 'The far side broke the connection off before its reply was complete.');
}
