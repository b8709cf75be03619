import type { Dispatcher } from 'undici';
import { atEndOfTurn } from '#base/end-of-turn.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Attempt } from './attempt.ts';
import type { Sending } from './call-scope.ts';
import { type ContentDecoder, createContentDecoder } from './content-decoding.ts';
import { farSideFailure } from './far-side-failure.ts';
import { type FarSideReply, headerValue, type OutboundCall, type ReplyHeaders } from './outbound-call.ts';
import { ReplyBody, type ReplyBodySource, tooLarge } from './reply-body.ts';
import { Silence } from './silence.ts';

/** More interim answers than this are a flood (hardening row 60). */
const interimLimit = 16;

/**
 * One request and its reply, as undici's dispatch handler. `reply` settles when the body is whole or its first 64 KiB are
 * there. A state-changing request is written at most once, whatever undici does with its connections.
 */
export class Exchange implements Dispatcher.DispatchHandler, ReplyBodySource, Sending {
  readonly reply: Promise<FarSideReply>;
  readonly #call: OutboundCall;
  readonly #attempt: Attempt | undefined;
  readonly #resolve: (reply: FarSideReply) => void;
  readonly #reject: (reason: Error) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #body: ReplyBody | undefined;
  #decoder: ContentDecoder | undefined;
  #status: number | undefined;
  #headers: ReplyHeaders = {};
  #interim = 0;
  /** Bytes of the body on the wire: those that have arrived, and as many as there are; NaN where the far side does not say. */
  #arrived = 0;
  #declared = Number.NaN;
  #left = false;
  /** The whole message has come. */
  #ended = false;
  #settled = false;
  #over: Error | undefined;
  readonly #silence = new Silence((reason) => this.abort(reason));

  /** `attempt`: who is told what comes of it. */
  constructor(call: OutboundCall, attempt?: Attempt) {
    this.#call = call;
    this.#attempt = attempt;
    const { promise, resolve, reject } = Promise.withResolvers<FarSideReply>();
    this.reply = promise;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** True once a byte of the request may have left. */
  get left(): boolean {
    return this.#left;
  }

  get bodyLength(): number {
    return this.#call.body?.length ?? 0;
  }

  /** Decoded bytes of the reply's body that have arrived. */
  get received(): number {
    return this.#body?.received ?? 0;
  }

  /** Stops the call at whatever point it is; closing the connection is what tells the far side. */
  abort(reason: Error): void {
    if (this.#over !== undefined) return;
    this.#over = reason;
    this.#silence.end();
    this.#decoder?.destroy();
    this.#controller?.abort(reason);
    this.#fail(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over !== undefined) {
      controller.abort(this.#over);
    } else if (this.#left && this.#call.stateChanging) {
      this.abort(new Error('a second sending was refused'));
    } else {
      this.#left = true;
      this.#silence.limit('firstByte', this.#call.timeouts.firstByte);
    }
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: ReplyHeaders): void {
    if (status < 200) {
      this.#interim += 1;
      if (this.#interim > interimLimit) {
        this.abort(
          new GatewayError('upstream-protocol-error', `The far side sent more than ${interimLimit} interim (1xx) answers.`),
        );
      }
      return;
    }
    this.#status = status;
    this.#silence.limit('idle', this.#call.timeouts.idle);
    const unreadable = transferFault(headerValue(headers, 'transfer-encoding'));
    if (unreadable !== undefined) {
      this.abort(unreadable);
      return;
    }
    const contentEncoding = headerValue(headers, 'content-encoding');
    this.#declared = Number(headerValue(headers, 'content-length'));
    // The limit is on decoded bytes, and the length of a 204 or 304 is not that of a body (RFC 9110 8.6).
    if (this.#declared > this.#call.responseLimit && contentEncoding === undefined && status !== 204 && status !== 304) {
      this.abort(tooLarge(this.#call.responseLimit));
      return;
    }
    if (contentEncoding !== undefined) {
      this.#decoder = createContentDecoder(contentEncoding, {
        onData: (chunk) => this.#body?.push(chunk),
        onDrain: () => this.#resumeFarSide(),
        onEnd: () => this.#complete(),
        onError: (error) => this.abort(undecodable(error)),
      });
    }
    this.#headers = headers;
    this.#body = new ReplyBody(this.#call.responseLimit, this);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#silence.broken();
    this.#arrived += chunk.length;
    if (this.#decoder === undefined) this.#body?.push(chunk);
    else if (!this.#decoder.write(chunk)) this.#pauseFarSide();
  }

  onResponseEnd(): void {
    this.#ended = true;
    this.#silence.end();
    if (this.#decoder === undefined) this.#complete();
    else this.#decoder.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#over === completed) return;
    this.#over ??= error;
    this.#silence.end();
    this.#decoder?.destroy();
    this.#fail(this.#over);
  }

  headArrived(head: Buffer, complete: boolean): void {
    this.#settled = true;
    const [status, headers, body] = [this.#status ?? 0, this.#headers, this.#body];
    this.#attempt?.replied(status);
    const rest = complete ? undefined : body?.rest();
    const discard = (): void => this.abort(new Error('the reply was let go'));
    atEndOfTurn(() => this.#resolve({ status, headers, head, rest, discard }));
  }

  /** Of the reply's body. */
  pause(): void {
    if (this.#decoder === undefined) this.#pauseFarSide();
    else this.#decoder.pause();
  }

  resume(): void {
    if (this.#decoder === undefined) this.#resumeFarSide();
    else this.#decoder.resume();
  }

  /**
   * Not behind the last byte: where undici is paused there it does not see that the reply is whole, and takes an end of the connection that
   * comes meanwhile for the reply's breaking off (undici 8.12, `onHttpSocketEnd`).
   */
  #pauseFarSide(): void {
    if (this.#arrived === this.#declared) return;
    // What is not asked for cannot come.
    this.#silence.end();
    this.#controller?.pause();
  }

  #resumeFarSide(): void {
    if (this.#controller?.paused === true) this.#silence.limit('idle', this.#call.timeouts.idle);
    this.#controller?.resume();
  }

  #complete(): void {
    this.#over ??= completed;
    this.#body?.end();
    if (this.#ended) return;
    this.#silence.end();
    this.#controller?.abort(completed);
  }

  #fail(thrown: Error): void {
    const failure = farSideFailure(thrown, this.#call, { left: this.#left, status: this.#status });
    if (this.#settled) {
      this.#body?.fail(failure);
      return;
    }
    this.#settled = true;
    this.#attempt?.failed(failure);
    this.#reject(failure);
  }
}

const completed = new Error('the exchange is complete');

/** undici takes chunked off and hands on what is below another coding, which no request of ours asked for (RFC 9112 7.4: no TE). */
function transferFault(coding: string | undefined): GatewayError | undefined {
  if (coding === undefined || /^[ \t]*(?:chunked|identity)[ \t]*$/iu.test(coding)) return undefined;
  return new GatewayError(
    'upstream-protocol-error',
    'The reply of the far side has a transfer coding that nobody asked for; chunked is the only one that is taken.',
  );
}

function undecodable(error: Error): GatewayError {
  return new GatewayError('upstream-protocol-error', 'The reply of the far side does not decode by its Content-Encoding.', {
    cause: error,
  });
}
