import type { Socket } from 'node:net';
import { inCheckPhase } from '#base/check-phase.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { ReplyReader, type ReplyTaker } from './reply-reader.ts';
import { certificateRefused } from './tls-failure.ts';

/** One request and its reply, on a connection that is theirs until `ended` or `failed`: one of the two comes, once. */
export interface ConnectionUser extends ReplyTaker {
  /** What came last is told, and more of the reply is to come. */
  unfinished(): void;
  /** The reply is whole. */
  ended(): void;
  failed(reason: Error): void;
}

/** Whom a connection belongs to while nobody uses it. */
export interface ConnectionOwner {
  /** It can take another request; `keptFor`: milliseconds that the far side says it keeps it. */
  freed(connection: FarSideConnection, keptFor: number | undefined): void;
  closed(connection: FarSideConnection): void;
}

/** A body up to this goes out as one string of latin-1 together with the head: a Buffer behind it would be a vectored write, which takes longer. */
const writtenWhole = 16_384;

/**
 * One connection to a far side, for one request at a time. What the socket receives goes to the reader at once, past the queue of Node's
 * stream (decision 0019).
 */
export class FarSideConnection {
  readonly origin: string;
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #reader = new ReplyReader();
  #user: ConnectionUser | undefined;
  #paused = false;
  #last = false;

  /** `socket` is connected, and nothing has been read from it. */
  constructor(origin: string, socket: Socket, owner: ConnectionOwner) {
    this.origin = origin;
    this.#socket = socket;
    this.#owner = owner;
    const push = socket.push.bind(socket);
    socket.push = (piece: Buffer | null, encoding) => (piece === null ? push(null, encoding) : this.#received(piece));
    socket.on('error', (error) => this.#broken(this.#translated(error)));
    socket.on('end', () => this.#ended());
    socket.on('close', () => {
      // Without an end before it: whatever closed it, nothing says that its reply was whole.
      if (this.#user !== undefined) this.#broken(closedEarly());
      owner.closed(this);
    });
    socket.read(0);
  }

  /** False where it has ended, or is about to. */
  get usable(): boolean {
    return this.#socket.writable;
  }

  /** Writes a request, once, and tells `user` of its reply; `last`: no other one is to follow it. */
  send(
    user: ConnectionUser,
    { head, body, last }: { readonly head: string; readonly body: Buffer | undefined; readonly last: boolean },
  ): void {
    this.#user = user;
    this.#last = last;
    this.#reader.expect();
    const socket = this.#socket;
    if (body === undefined || body.length <= writtenWhole) {
      socket.write(body === undefined ? head : head + body.toString('latin1'), 'latin1');
      return;
    }
    socket.cork();
    socket.write(head, 'latin1');
    socket.write(body);
    socket.uncork();
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** What has been received is told all the same; nothing more is read until `resume`. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#socket._read(0);
  }

  /** Nobody is told of anything any more. */
  destroy(): void {
    this.#user = undefined;
    this.#paused = false;
    this.#reader.stop();
    this.#socket.destroy();
  }

  /** False where nothing more is to be read for now. */
  #received(piece: Buffer): boolean {
    const user = this.#user;
    if (user === undefined) {
      // Nobody asked for it: whatever it is, it is not the reply to the next request.
      this.#socket.destroy();
      return true;
    }
    try {
      this.#reader.read(piece, user);
    } catch (error) {
      this.#broken(error instanceof Error ? error : new Error('the reply could not be read', { cause: error }));
      return true;
    }
    if (this.#user === user) {
      if (this.#reader.done) this.#finish(user);
      else user.unfinished();
    }
    return !this.#paused;
  }

  #finish(user: ConnectionUser): void {
    const { reusable, keptFor } = this.#reader;
    const kept = reusable && !this.#last;
    this.#user = undefined;
    // Over TLS a reply may become whole on a socket that has stopped reading: what is decrypted already comes all the same.
    if (kept) this.resume();
    else this.destroy();
    user.ended();
    // That a request is written TLS says a turn later only: the reply may be there first.
    if (kept && this.#socket.writableLength > 0) inCheckPhase(() => this.#free(keptFor));
    else if (kept) this.#free(keptFor);
  }

  /** A far side that has answered before it has read all of a request may go on to read it, or not. */
  #free(keptFor: number | undefined): void {
    if (this.usable && this.#socket.writableLength === 0) this.#owner.freed(this, keptFor);
    else this.destroy();
  }

  #ended(): void {
    const user = this.#user;
    if (user === undefined) this.destroy();
    else if (this.#reader.ends()) this.#finish(user);
    else this.#broken(closedEarly());
  }

  #broken(reason: Error): void {
    const user = this.#user;
    this.destroy();
    user?.failed(reason);
  }

  /** Of a TLS alert, what it says of the gateway's certificate. */
  #translated(error: NodeJS.ErrnoException): Error {
    if (error.code?.startsWith('ERR_SSL_') !== true) return error;
    const { hostname, port } = new URL(this.origin);
    return certificateRefused(error, this.#socket, `${hostname}:${port === '' ? '443' : port}`) ?? error;
  }
}

function closedEarly(): GatewayError {
  return new GatewayError('upstream-closed', 'The far side broke the connection off before its reply was complete.');
}
