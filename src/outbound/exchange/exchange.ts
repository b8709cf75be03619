import { GatewayError } from '#base/gateway-error.ts';
import { type Sending, timedOut } from '../call/call-scope.ts';
import { type Attempt, headerValue, type OutboundCall, type ReplyHeaders, type UpstreamReply } from '../call/outbound-call.ts';
import type { WaitingRequest } from './connection-pool.ts';
import { type ContentDecoder, createContentDecoder } from './content-decoding.ts';
import { requestHead, takesBody } from './message-head.ts';
import { ReplyBody, type ReplyBodySource, tooLarge } from './reply-body.ts';
import type { ConnectionUser, UpstreamConnection } from './upstream-connection.ts';
import { upstreamFailure } from './upstream-failure.ts';

/** More are a flood (docs/security.md, row 60). */
const interimLimit = 16;

/** `reply` resolves with the body, or its first 64 KiB. The request is written at most once. */
export class Exchange implements WaitingRequest, ConnectionUser, ReplyBodySource, Sending {
  readonly reply: Promise<UpstreamReply>;
  readonly #call: OutboundCall;
  readonly #attempt: Attempt | undefined;
  readonly #resolve: (reply: UpstreamReply) => void;
  readonly #reject: (reason: Error) => void;
  /** Undefined once the whole message has arrived. */
  #connection: UpstreamConnection | undefined;
  #body: ReplyBody | undefined;
  #decoder: ContentDecoder | undefined;
  #status: number | undefined;
  #headers: ReplyHeaders = {};
  #interim = 0;
  #left = false;
  #messageEnded = false;
  #replied = false;
  /** Undefined while it goes on. */
  #endReason: Error | undefined;
  /** For the silence of the upstream. */
  #timer: NodeJS.Timeout | undefined;

  constructor(call: OutboundCall, attempt?: Attempt) {
    this.#call = call;
    this.#attempt = attempt;
    const { promise, resolve, reject } = Promise.withResolvers<UpstreamReply>();
    this.reply = promise;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  get left(): boolean {
    return this.#left;
  }

  get isEnded(): boolean {
    return this.#endReason !== undefined;
  }

  get origin(): string {
    return this.#call.origin;
  }

  get caller(): string | undefined {
    return this.#call.caller;
  }

  get bodyLength(): number {
    return this.#call.body?.length ?? 0;
  }

  /** Decoded bytes. */
  get received(): number {
    return this.#body?.received ?? 0;
  }

  /** At any point. The upstream sees a closed connection. */
  abort(reason: Error): void {
    if (this.#endReason !== undefined) return;
    this.#endReason = reason;
    this.#endLimit();
    this.#decoder?.destroy();
    this.#connection?.destroy();
    this.#fail(reason);
  }

  begin(connection: UpstreamConnection): void {
    this.#connection = connection;
    const { method, body, timeouts } = this.#call;
    const head = requestHead(this.#call, this.#attempt?.headers ?? this.#call.headers);
    if (head === undefined) {
      this.abort(new GatewayError('internal-error', 'The gateway made a request that cannot be sent.'));
      return;
    }
    this.#left = true;
    this.#limit('firstByte', timeouts.firstByte);
    const filled = body !== undefined && body.length > 0;
    const last = (filled && !takesBody(method)) || authenticatesConnection(this.#call);
    connection.send(this, { head, body: filled ? body : undefined, last });
  }

  interim(): void {
    this.#interim += 1;
    if (this.#interim > interimLimit)
      this.abort(
        new GatewayError('upstream-protocol-error', `The upstream sent more than ${interimLimit} interim (1xx) answers.`),
      );
  }

  head(status: number, headers: ReplyHeaders): void {
    this.#status = status;
    if (asksForConnectionAuthentication(headers)) this.#connection?.endAfterReply();
    const refusal = refusalByHead(this.#call, status, headers);
    if (refusal !== undefined) {
      this.abort(refusal);
      return;
    }
    const contentEncoding = headerValue(headers, 'content-encoding');
    if (contentEncoding !== undefined) {
      this.#decoder = createContentDecoder(contentEncoding, {
        onData: (chunk) => this.#body?.push(chunk),
        onDrain: () => this.#resumeUpstream(),
        onEnd: () => this.#complete(),
        onError: (error) => this.abort(undecodable(error)),
      });
    }
    this.#headers = headers;
    this.#body = new ReplyBody(this.#call.responseLimit, this);
    if (this.#call.asItComes === true) this.#body.giveAsItComes();
  }

  data(piece: Buffer): void {
    if (this.#decoder === undefined) this.#body?.push(piece);
    else if (!this.#decoder.write(piece)) this.#pauseUpstream();
  }

  unfinished(): void {
    // Before, the limit for the first byte applies; while reading is paused, none.
    if (this.#status !== undefined && this.#connection?.paused === false) this.#limitIdle();
  }

  ended(): void {
    this.#connection = undefined;
    this.#messageEnded = true;
    this.#endLimit();
    if (this.#decoder === undefined) this.#complete();
    else this.#decoder.end();
  }

  failed(reason: Error): void {
    this.#endReason ??= reason;
    this.#endLimit();
    this.#decoder?.destroy();
    this.#fail(this.#endReason);
  }

  headArrived(head: Buffer, complete: boolean): void {
    this.#replied = true;
    const [status, headers, body] = [this.#status ?? 0, this.#headers, this.#body];
    this.#attempt?.replied(status);
    const rest = complete ? undefined : body?.rest();
    const discard = (): void => this.abort(new Error('the reply was let go'));
    // Node reads an end that came with the reply one iteration later, before the pool begins the next request.
    setImmediate(() => this.#resolve({ status, headers, head, rest, discard }));
  }

  pause(): void {
    if (this.#decoder === undefined) this.#pauseUpstream();
    else this.#decoder.pause();
  }

  resume(): void {
    if (this.#decoder === undefined) this.#resumeUpstream();
    else this.#decoder.resume();
  }

  #pauseUpstream(): void {
    this.#endLimit();
    this.#connection?.pause();
  }

  #resumeUpstream(): void {
    if (this.#connection?.paused === true) this.#limitIdle();
    this.#connection?.resume();
  }

  #limitIdle(): void {
    this.#limit('idle', this.#call.timeouts.idle);
  }

  /** Milliseconds, 0 for none. Replaces the limit before. */
  #limit(phase: 'firstByte' | 'idle', milliseconds: number): void {
    this.#endLimit();
    if (milliseconds === 0) return;
    const timer = setTimeout(() => {
      // First read what arrived while the gateway was busy.
      setImmediate(() => {
        if (this.#timer === timer) this.abort(timedOut(phase, milliseconds));
      });
    }, milliseconds);
    this.#timer = timer;
  }

  #endLimit(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #complete(): void {
    this.#endReason ??= completed;
    this.#body?.end();
    if (this.#messageEnded) return;
    this.#endLimit();
    this.#connection?.destroy();
  }

  #fail(thrown: Error): void {
    const failure = upstreamFailure(thrown, this.#call, { left: this.#left, status: this.#status });
    if (this.#replied) {
      this.#body?.fail(failure);
      return;
    }
    this.#replied = true;
    this.#attempt?.failed(failure);
    this.#reject(failure);
  }
}

const completed = new Error('the exchange is complete');

function undecodable(error: Error): GatewayError {
  return new GatewayError('upstream-protocol-error', 'The reply of the upstream does not decode by its Content-Encoding.', {
    cause: error,
  });
}

const eventStream = /(?:^|,)[ \t]*text\/event-stream[ \t]*(?:[;,]|$)/iu;

/** Before its body is read. */
function refusalByHead(call: OutboundCall, status: number, headers: ReplyHeaders): GatewayError | undefined {
  // Content-Length of a 204 or 304 is about another body (RFC 9110 8.6).
  if (status === 204 || status === 304) return undefined;
  const length = headerValue(headers, 'content-length');
  if (length === undefined) {
    const isEndless = call.asItComes !== true && eventStream.test(headerValue(headers, 'content-type') ?? '');
    return isEndless ? endless(call) : undefined;
  }
  // The limit counts decoded bytes.
  const isDecoded = headerValue(headers, 'content-encoding') === undefined;
  return isDecoded && Number(length) > call.responseLimit ? tooLarge(call.responseLimit) : undefined;
}

function endless({ method, stateChanging }: OutboundCall): GatewayError {
  const answered = stateChanging ? ` It has answered the ${method}: look there before you send it again.` : '';
  return new GatewayError(
    'stream-refused',
    `The upstream answers with text/event-stream, which need not end, and the gateway relays only replies that end. Ask for another media type, or read the stream directly from the upstream.${answered}`,
  );
}

const connectionCredentials = /^[ \t]*(?:ntlm|negotiate)\b/iu;
const connectionChallenge = /(?:^|,)[ \t]*(?:ntlm|negotiate)\b/iu;

/** NTLM and Negotiate (RFC 4559 6) authenticate the connection: each later request on it would act in their name. */
function authenticatesConnection({ headers }: Pick<OutboundCall, 'headers'>): boolean {
  for (let at = 0; at < headers.length; at += 2)
    if (headers[at]?.toLowerCase() === 'authorization' && connectionCredentials.test(headers[at + 1] ?? '')) return true;
  return false;
}

/** Or is a step of such an authentication. */
function asksForConnectionAuthentication(headers: ReplyHeaders): boolean {
  return ['www-authenticate', 'proxy-authenticate'].some((name) => connectionChallenge.test(headerValue(headers, name) ?? ''));
}
