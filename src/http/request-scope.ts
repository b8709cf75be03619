import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Principal } from '#access/principal.ts';
import type { Clock } from '#base/clock.ts';
import type { GatewayError } from '#base/gateway-error.ts';
import { continueTrace, type TraceContext } from '#base/trace-context.ts';
import type { CallContext } from '#relay/call-context.ts';
import { preferredWait, receivedRequestId } from './request-checks.ts';

/** Everything that is known of one request while it lasts; the relay sees it as the circumstances of its call. */
export class RequestScope implements CallContext {
  readonly requestId: string;
  readonly route: string | undefined;
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
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  #trace: TraceContext | undefined;

  constructor(options: {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
    readonly route: string | undefined;
    readonly sourceAddress: string;
    readonly clock: Clock;
  }) {
    this.#request = options.request;
    this.#response = options.response;
    this.#clock = options.clock;
    this.route = options.route;
    this.method = options.request.method ?? '';
    this.sourceAddress = options.sourceAddress;
    this.startedAt = options.clock.monotonic();
    this.requestId = receivedRequestId(options.request.headers['x-request-id']) ?? randomUUID();
  }

  get trace(): TraceContext {
    const received = this.#request.headers['traceparent'];
    this.#trace ??= continueTrace(typeof received === 'string' ? received : undefined);
    return this.#trace;
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
