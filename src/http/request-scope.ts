import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuditLog } from '#audit/audit-log.ts';
import { CallerLeft } from '#base/caller-left.ts';
import type { Clock } from '#base/clock.ts';
import { continueTrace, type ReceivedTrace, readTrace, type TraceContext } from '#base/trace-context.ts';
import type { Span } from '#base/tracing.ts';
import type { AttemptObservers } from '#calls/attempts.ts';
import type { CallContext } from '#calls/call-context.ts';
import { type CallOrigin, CallRecord } from '#calls/call-record.ts';
import type { CallOperation } from '#relay/relayed-call.ts';
import { newRequestId, preferredWait, receivedRequestId } from './admission/request-checks.ts';
import { problemReply } from './problem.ts';
import type { FoundRoute } from './route-table.ts';

/** Everything that is known of one HTTP request while it lasts: the HTTP around its record. */
export class RequestScope implements CallContext, CallOrigin {
  readonly requestId: string;
  /** The pattern of its route, such as `/orchestrator_manager/restQuery/:adapterId`; undefined where there is none. */
  readonly routePattern: string | undefined;
  readonly route: string | undefined;
  readonly isRecorded: boolean;
  /** Undefined where the route relays no call. */
  readonly operation: CallOperation | undefined;
  readonly method: string;
  readonly sourceAddress: string;
  readonly record: CallRecord;
  /** Releases the place among the requests that are worked on, where it holds one. */
  releasePlace: () => void = () => {};
  span: Span | undefined;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #endings: Set<() => void>;
  #whenEnded: (complete: boolean) => void = () => {};
  #trace: TraceContext | undefined;

  constructor(options: {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
    readonly found: FoundRoute | undefined;
    readonly sourceAddress: string;
    readonly clock: Clock;
    /** Callbacks for where the gateway stops before its calls end. */
    readonly endings: Set<() => void>;
    readonly observers: AttemptObservers;
    readonly audit: AuditLog;
  }) {
    const { request, found, clock, audit, observers } = options;
    this.#request = request;
    this.#response = options.response;
    this.#endings = options.endings;
    this.routePattern = found?.route.url;
    this.route = found?.name;
    this.isRecorded = found?.route.recorded ?? false;
    this.operation = found?.route.operation;
    this.method = request.method ?? '';
    this.sourceAddress = options.sourceAddress;
    this.requestId = receivedRequestId(request.headers['x-request-id']) ?? newRequestId();
    this.record = new CallRecord({ origin: this, audit, clock, observers, renderError: problemReply });
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

  /** The request target as it came. */
  get address(): string {
    return this.#request.url ?? '';
  }

  get wait(): number | undefined {
    const seconds = preferredWait(this.#request.headers['prefer']);
    return seconds === undefined ? undefined : seconds * 1000;
  }

  /** Adds `Connection: close` to the reply, where its head is not out yet (RFC 9112 9.6). */
  announceClosing(): void {
    if (!this.#response.headersSent) this.#response.setHeader('Connection', 'close');
  }

  whenEnded(callback: (complete: boolean) => void): void {
    if (this.isClosed) callback(false);
    else this.#whenEnded = callback;
  }

  whenStopping(callback: () => void): () => void {
    this.#endings.add(callback);
    return () => this.#endings.delete(callback);
  }

  /** The reply is out, or its connection broke before that. */
  replyEnded(): void {
    this.#whenEnded(!this.record.cutOff);
  }

  /** The reply is out, or its connection broke. */
  get isClosed(): boolean {
    return this.#response.destroyed;
  }

  /** All of it has ended, its call included: puts on record what is not there yet. Answers the status of the reply, if there was one. */
  end(): number | undefined {
    const { response, record } = { response: this.#response, record: this.record };
    // A body that could not be read is answered on the bare socket, with the status of its failure.
    const status = response.headersSent ? response.statusCode : record.failure?.status;
    const hasLeft = record.cutOff && this.#request.complete && !response.headersSent;
    record.end({ status, left: hasLeft ? new CallerLeft() : undefined });
    return status;
  }
}
