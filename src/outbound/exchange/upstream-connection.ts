import type { Socket } from 'node:net';
import { GatewayError } from '#base/gateway-error.ts';
import type { OutboundCall } from '../call/outbound-call.ts';
import { certificateRefused } from '../dialling/tls-handshake.ts';
import { ReplyReader, type ReplyTaker } from './reply-reader.ts';

/** Has the connection until it calls `ended` or `failed`, exactly one of the two, once. */
export interface ConnectionUser extends ReplyTaker {
  /** Bytes of the reply were read; more follow. */
  unfinished(): void;
  ended(): void;
  failed(reason: Error): void;
}

export interface ConnectionOwner {
  /** `keptFor`: milliseconds, where the reply said so. */
  freed(connection: UpstreamConnection, keptFor: number | undefined): void;
  closed(connection: UpstreamConnection): void;
}

export class UpstreamConnection {
  readonly origin: string;
  readonly caller: string | undefined;
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #reader = new ReplyReader();
  #user: ConnectionUser | undefined;
  #paused = false;
  #last = false;

  /** Connected, and nothing read from it. */
  constructor({ origin, caller }: Pick<OutboundCall, 'origin' | 'caller'>, socket: Socket, owner: ConnectionOwner) {
    this.origin = origin;
    this.caller = caller;
    this.#socket = socket;
    this.#owner = owner;
    socket.on('data', (piece: Buffer) => this.#receive(piece));
    socket.on('error', (error) => {
      this.#readBuffered();
      this.#broken(this.#translate(error));
    });
    socket.on('end', () => this.#ended());
    socket.on('close', () => {
      // Without 'end' the reply may be incomplete.
      if (this.#user !== undefined) this.#broken(closedEarly());
      owner.closed(this);
    });
    socket.resume();
  }

  /** False once the socket is ending. */
  get usable(): boolean {
    return this.#socket.writable;
  }

  /** `last`: no other request may follow. */
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

  endAfterReply(): void {
    this.#last = true;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** The rest of the piece being read still reaches the user. */
  pause(): void {
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#socket.resume();
  }

  /** Neither user nor reader is called after that. */
  destroy(): void {
    this.#user = undefined;
    this.#paused = false;
    this.#reader.stop();
    this.#socket.destroy();
  }

  /** Node would drop up to 64 KiB of a paused socket when the upstream resets it. */
  #readBuffered(): void {
    for (let piece: Buffer | null; (piece = this.#socket.read() as Buffer | null) !== null; ) this.#receive(piece);
  }

  #receive(piece: Buffer): void {
    const user = this.#user;
    if (user === undefined) {
      // The bytes must not count as the reply to the next request.
      this.#socket.destroy();
      return;
    }
    try {
      this.#reader.read(piece, user);
    } catch (error) {
      this.#broken(error instanceof Error ? error : new Error('the reply could not be read', { cause: error }));
      return;
    }
    // Destroyed meanwhile.
    if (this.#user !== user) return;
    if (this.#reader.done) this.#endReply(user);
    else user.unfinished();
  }

  #endReply(user: ConnectionUser): void {
    const { reusable, keptFor } = this.#reader;
    const kept = reusable && !this.#last;
    this.#user = undefined;
    // The piece that made the user pause may end the reply.
    if (kept) this.resume();
    else this.destroy();
    user.ended();
    // Over TLS the reply may arrive before Node reports the request as written.
    if (kept && this.#socket.writableLength > 0) setImmediate(() => this.#free(keptFor));
    else if (kept) this.#free(keptFor);
  }

  /** The upstream may never read the rest of a request that it has answered. */
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

  /** Names an alert about the client certificate. */
  #translate(error: NodeJS.ErrnoException): Error {
    if (error.code?.startsWith('ERR_SSL_') !== true) return error;
    const { hostname, port } = new URL(this.origin);
    return certificateRefused(error, this.#socket, `${hostname}:${port === '' ? '443' : port}`) ?? error;
  }
}

function closedEarly(): GatewayError {
  return new GatewayError('upstream-closed', 'The upstream broke the connection off before its reply was complete.');
}
