import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authentication } from '#access/authentication.ts';
import type { AuditLog } from '#audit/audit-log.ts';
import { CallerLeft } from '#base/caller-left.ts';
import type { Clock } from '#base/clock.ts';
import { continueTrace, type ReceivedTrace, readTrace, type TraceContext } from '#base/trace-context.ts';
import type { Span } from '#base/tracing.ts';
import type { ApprovalReference } from '#calls/approval-check.ts';
import type { AttemptObservers } from '#calls/attempts.ts';
import type { CallContext } from '#calls/call-context.ts';
import { type CallOrigin, CallRecord } from '#calls/call-record.ts';
import type { CallOperation } from '#relay/relayed-call.ts';
import { newRequestId, preferredWait, receivedRequestId } from './admission/request-checks.ts';
import { accessOf, type Route } from './route.ts';
import type { FoundRoute } from './route-table.ts';

/** What is known of one inbound request from its head to the end of its reply: the HTTP around its record. */
export class RequestScope implements CallContext, CallOrigin {
  readonly requestId: string;
  /** The pattern of its route, such as `/orchestrator_manager/restQuery/:adapterId`; undefined where there is none. */
  readonly routePattern: string | undefined;
  readonly route: string | undefined;
  readonly isRecorded: boolean;
  /** The route needs a caller. */
  readonly isPrivate: boolean;
  /** The path of `server.publicUrl`. */
  readonly publicPath: string;
  /** Undefined where the route relays no call. */
  readonly operation: CallOperation | undefined;
  readonly method: string;
  readonly sourceAddress: string;
  readonly record: CallRecord;
  /** Releases the place that the request holds (`RouteTraits.holdsPlace`), if any. */
  releasePlace: () => void = () => {};
  span: Span | undefined;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #abortCallbacks: Set<() => void>;
  /** Calls back when the gateway begins to stop; the result takes that back. */
  readonly whenDraining: (callback: () => void) => () => void;
  #whenEnded: (complete: boolean) => void = () => {};
  #trace: TraceContext | undefined;

  constructor(options: {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
    readonly found: FoundRoute | undefined;
    readonly sourceAddress: string;
    readonly publicPath: string;
    readonly clock: Clock;
    /** Called where the gateway stops before its calls end. */
    readonly abortCallbacks: Set<() => void>;
    readonly whenDraining: (callback: () => void) => () => void;
    readonly observers: AttemptObservers;
    readonly audit: AuditLog;
    /** Replaces the values of secrets in what goes on record. */
    readonly mask: ((text: string) => string) | undefined;
  }) {
    const { request, found, clock, audit, observers, mask } = options;
    this.#request = request;
    this.#response = options.response;
    this.#abortCallbacks = options.abortCallbacks;
    this.whenDraining = options.whenDraining;
    this.routePattern = found?.route.url;
    this.route = found?.name;
    this.isRecorded = found?.route.recorded ?? false;
    this.isPrivate = found !== undefined && accessOf(found.route) !== 'everyone';
    this.publicPath = options.publicPath;
    this.operation = found?.route.operation;
    this.method = request.method ?? '';
    this.sourceAddress = options.sourceAddress;
    this.requestId = receivedRequestId(request.headers['x-request-id']) ?? newRequestId();
    this.record = new CallRecord({ origin: this, audit, clock, observers, ...(mask && { mask }) });
  }

  get trace(): TraceContext {
    this.#trace ??= this.span?.trace ?? continueTrace(this.received);
    return this.#trace;
  }

  /** The trace context of the caller's `traceparent` and `tracestate`. */
  get received(): ReceivedTrace | undefined {
    const { traceparent, tracestate } = this.#request.headers;
    return readTrace(traceparent, tracestate);
  }

  /** The request target, unchanged. */
  get address(): string {
    return this.#request.url ?? '';
  }

  get approval(): ApprovalReference | undefined {
    const { approval: id, 'x-reason': reason } = this.#request.headers;
    if (id === undefined && reason === undefined) return undefined;
    return { id: textOfHeader(id), reason: textOfHeader(reason)?.slice(0, maxReasonLength) };
  }

  get wait(): number | undefined {
    const seconds = preferredWait(this.#request.headers['prefer']);
    return seconds === undefined ? undefined : seconds * 1000;
  }

  /** Adds `Connection: close` to the reply where its head is not sent yet (RFC 9112 9.6). */
  announceClosing(): void {
    if (!this.#response.headersSent) this.#response.setHeader('Connection', 'close');
  }

  whenEnded(callback: (complete: boolean) => void): void {
    if (this.isClosed) callback(false);
    else this.#whenEnded = callback;
  }

  whenStopping(callback: () => void): () => void {
    this.#abortCallbacks.add(callback);
    return () => this.#abortCallbacks.delete(callback);
  }

  /** To be called once the reply has been sent, or its connection broke before that. */
  replyEnded(): void {
    this.#whenEnded(!this.record.cutOff);
  }

  /** True once the reply has been sent or its connection broke. */
  get isClosed(): boolean {
    return this.#response.destroyed;
  }

  /** To be called once the request and its call have ended: completes the record. Returns the status of the reply, if there was one. */
  end(): number | undefined {
    const { response, record } = { response: this.#response, record: this.record };
    // A body that could not be read is answered on the bare socket, with the status of its failure.
    const status = response.headersSent ? response.statusCode : record.failure?.status;
    const hasLeft = record.cutOff && this.#request.complete && !response.headersSent;
    record.end({ status, left: hasLeft ? new CallerLeft() : undefined });
    return status;
  }
}

/** Characters of `X-Reason` that are kept. */
const maxReasonLength = 2_000;

/** Node reads headers as latin1; a text with other characters is UTF-8. */
function textOfHeader(value: string | readonly string[] | undefined): string | undefined {
  if (typeof value !== 'string') return value?.join(', ');
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : value;
}

/** An inbound request with Node's request and reply, its route, its caller and its body, as far as they are known. */
export interface ServedRequest {
  readonly raw: IncomingMessage;
  readonly response: ServerResponse;
  /** Undefined where no route takes it. */
  readonly route: Route | undefined;
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly scope: RequestScope;
  /** Ends the time limit of its body. */
  readonly endBodyTime: () => void;
  /** Undefined until the caller is authenticated. */
  caller?: Authentication;
  /** Undefined until the body is read, and where there is none. */
  body?: Buffer | undefined;
}
