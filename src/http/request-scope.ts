import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Principal } from '#access/principal.ts';
import type { Clock } from '#base/clock.ts';
import type { GatewayError } from '#base/gateway-error.ts';
import { continueTrace, type ReceivedTrace, readTrace, type TraceContext } from '#base/trace-context.ts';
import type { Span } from '#base/tracing.ts';
import type { CallContext } from '#relay/call-context.ts';
import type { Attempted } from './attempts.ts';
import { preferredWait, receivedRequestId } from './request-checks.ts';

/** Everything that is known of one request while it lasts; the relay sees it as the circumstances of its call. */
export class RequestScope implements CallContext {
  readonly requestId: string;
  readonly route: string | undefined;
  /** It is a call to be relayed. */
  readonly relays: boolean;
  readonly method: string;
  readonly sourceAddress: string;
  readonly startedAt: number;
  principal: Principal = nobody;
  adapter: string | undefined;
  upstreamStatus: number | undefined;
  failure: GatewayError | undefined;
  /** What counts the call of this request; throws where there is none left. */
  count: () => void = () => {};
  /** The reply was not sent to its end: the caller left, or the gateway broke it off. */
  cutOff = false;
  /** Undefined where nothing was sent. */
  attempted: Attempted | undefined;
  /** Where requests are traced. */
  span: Span | undefined;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  readonly #watchAttempts: (scope: RequestScope) => NonNullable<CallContext['attempts']>;
  #trace: TraceContext | undefined;

  constructor(options: {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
    readonly route: string | undefined;
    readonly relays: boolean;
    readonly sourceAddress: string;
    readonly clock: Clock;
    readonly watchAttempts: (scope: RequestScope) => NonNullable<CallContext['attempts']>;
  }) {
    this.#request = options.request;
    this.#response = options.response;
    this.#clock = options.clock;
    this.#watchAttempts = options.watchAttempts;
    this.route = options.route;
    this.relays = options.relays;
    this.method = options.request.method ?? '';
    this.sourceAddress = options.sourceAddress;
    this.startedAt = options.clock.monotonic();
    this.requestId = receivedRequestId(options.request.headers['x-request-id']) ?? randomUUID();
  }

  get trace(): TraceContext {
    this.#trace ??= this.span?.trace ?? continueTrace(this.received);
    return this.#trace;
  }

  /** The trace that the caller named. */
  get received(): ReceivedTrace | undefined {
    const { traceparent, tracestate } = this.#request.headers;
    return readTrace(traceparent, tracestate);
  }

  get attempts(): NonNullable<CallContext['attempts']> {
    return this.#watchAttempts(this);
  }

  /** Milliseconds since the request's headers were read. */
  get duration(): number {
    return this.#clock.monotonic() - this.startedAt;
  }

  get clock(): Clock {
    return this.#clock;
  }

  get wait(): number | undefined {
    const seconds = preferredWait(this.#request.headers['prefer']);
    return seconds === undefined ? undefined : seconds * 1000;
  }

  begins(): void {
    this.count();
  }

  whenOver(callback: (complete: boolean) => void): void {
    // 'close' comes once the reply is out as well as when the connection breaks before that.
    if (this.#response.destroyed) callback(false);
    else this.#response.once('close', () => callback(this.#response.writableFinished));
  }

  note(fact: { readonly adapter?: string; readonly upstreamStatus?: number }): void {
    if (fact.adapter !== undefined) this.adapter = fact.adapter;
    if (fact.upstreamStatus !== undefined) this.upstreamStatus = fact.upstreamStatus;
  }

  failed(failure: GatewayError): void {
    this.failure = failure;
  }
}

const nobody: Principal = { username: '', roles: [], groups: [] };
