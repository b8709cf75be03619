import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Principal } from '#access/principal.ts';
import type { AuditLog, Intended } from '#audit/audit-log.ts';
import type { IdempotentRequest } from '#audit/idempotent-request.ts';
import { CallerLeft } from '#base/caller-left.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { withMaskedQuery } from '#base/masked-query.ts';
import { continueTrace, type ReceivedTrace, readTrace, type TraceContext } from '#base/trace-context.ts';
import type { Span } from '#base/tracing.ts';
import { type Attempted, AttemptObserver, type AttemptObservers } from '#calls/attempts.ts';
import { hasGrown, isRecorded, outcomeFacts, requestFacts } from '#calls/record-facts.ts';
import type { CallContext, CallFacts, CallResult } from '#relay/call-context.ts';
import type { RelayReply } from '#relay/relay-reply.ts';
import { newRequestId, preferredWait, receivedRequestId } from './admission/request-checks.ts';
import { keyEffect, readKeptReply } from './idempotency.ts';

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
  /** Of one shape from the beginning: what is noted changes no layout. */
  readonly facts: CallFacts = {
    principal: undefined,
    adapter: undefined,
    verb: undefined,
    address: undefined,
    rule: undefined,
    upstreamStatus: undefined,
    replays: undefined,
    traffic: undefined,
  };
  /** What was answered, once it was. */
  status: number | undefined;
  failure: GatewayError | undefined;
  /** Of an error that was answered once more. */
  replayedCode: string | undefined;
  /** What counts the call of this request; throws where there is none left. */
  count: () => void = () => {};
  /** Gives back what it was given of the limit of requests that are worked on. */
  giveBack: () => void = () => {};
  /** The reply was not sent to its end: the caller left, or the gateway broke it off. */
  cutOff = false;
  /** Its reply is kept, for its caller to ask for again. */
  isKept = false;
  /** Undefined where nothing was sent. */
  attempted: Attempted | undefined;
  /** Where it came with an Idempotency-Key. */
  idempotent: IdempotentRequest | undefined;
  /** Where requests are traced. */
  span: Span | undefined;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  readonly #endings: Set<() => void>;
  readonly #observers: AttemptObservers;
  readonly #audit: AuditLog;
  #intended: Intended | undefined;
  #whenOver: (complete: boolean) => void = () => {};
  /** From when its intent is being put on record until its outcome is: its caller may leave meanwhile. */
  #underWay: PromiseWithResolvers<void> | undefined;
  /** Bytes of the far side's reply that its record speaks of. */
  #recordedBytes = 0;
  /** Its record says that it went well. */
  #recordedWell = false;
  #trace: TraceContext | undefined;
  #endedAt: number | undefined;

  constructor(options: {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
    readonly route: string | undefined;
    readonly relays: boolean;
    readonly sourceAddress: string;
    readonly clock: Clock;
    /** What is called where the gateway ends before its calls do. */
    readonly endings: Set<() => void>;
    readonly observers: AttemptObservers;
    readonly audit: AuditLog;
  }) {
    this.#request = options.request;
    this.#response = options.response;
    this.#clock = options.clock;
    this.#endings = options.endings;
    this.#observers = options.observers;
    this.#audit = options.audit;
    this.route = options.route;
    this.relays = options.relays;
    this.method = options.request.method ?? '';
    this.sourceAddress = options.sourceAddress;
    this.startedAt = options.clock.monotonic();
    this.requestId = receivedRequestId(options.request.headers['x-request-id']) ?? newRequestId();
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
    return new AttemptObserver(this, this.#observers);
  }

  /** Milliseconds since the request's headers were read, to the end of its reply where that is over. */
  get duration(): number {
    return (this.#endedAt ?? this.#clock.monotonic()) - this.startedAt;
  }

  /** Of the error that was answered, where it was one. */
  get code(): string | undefined {
    return this.failure?.code ?? this.replayedCode;
  }

  get clock(): Clock {
    return this.#clock;
  }

  get wait(): number | undefined {
    const seconds = preferredWait(this.#request.headers['prefer']);
    return seconds === undefined ? undefined : seconds * 1000;
  }

  /** Its caller is told that its connection ends with the reply, where the head of that is not out yet (RFC 9112 9.6). */
  announceClosing(): void {
    if (!this.#response.headersSent) this.#response.setHeader('Connection', 'close');
  }

  begins(): void {
    this.count();
  }

  whenOver(callback: (complete: boolean) => void): void {
    if (this.isClosed) callback(false);
    else this.#whenOver = callback;
  }

  whenEnding(callback: () => void): () => void {
    this.#endings.add(callback);
    return () => this.#endings.delete(callback);
  }

  /** The reply is out, or its connection broke before that: nothing of it is left to send. */
  replied(): void {
    this.#whenOver(!this.cutOff);
  }

  /** The reply is out, or its connection broke. */
  get isClosed(): boolean {
    return this.#response.destroyed;
  }

  get adapter(): string | undefined {
    return this.facts.adapter;
  }

  get upstreamStatus(): number | undefined {
    return this.facts.upstreamStatus;
  }

  note(facts: CallFacts): void {
    Object.assign(this.facts, facts);
    if (facts.principal !== undefined) this.principal = facts.principal;
  }

  get isIdempotent(): boolean {
    return this.idempotent !== undefined;
  }

  async intend(): Promise<RelayReply | undefined> {
    const facts = requestFacts(this, this.#url);
    this.#underWay = Promise.withResolvers();
    try {
      const intended = await (this.idempotent === undefined
        ? this.#audit.intend(facts)
        : this.#audit.intendOnce(facts, this.idempotent));
      if (!('earlierReply' in intended)) {
        this.#intended = intended;
        return undefined;
      }
      const { reply, requestId, code } = readKeptReply(intended.earlierReply);
      this.note({ replays: requestId });
      this.replayedCode = code;
      return reply;
    } finally {
      if (this.#intended === undefined) this.#settled();
    }
  }

  async goesOn(address: string): Promise<void> {
    try {
      await this.#intended?.step({ event: 'request', address: withMaskedQuery(address) });
    } catch (error) {
      throw notFollowed(error);
    }
  }

  async concluded(result: CallResult): Promise<void> {
    try {
      const key = this.idempotent === undefined ? undefined : keyEffect(result, this, this.idempotent);
      this.isKept = key?.kind === 'end' && key.reply !== undefined;
      const facts = outcomeFacts(this, 'failure' in result ? result.failure : undefined);
      this.#recordedBytes = facts.bytesReceived ?? 0;
      this.#recordedWell = 'reply' in result;
      await this.#intended?.outcome(facts, key);
    } finally {
      this.#settled();
    }
  }

  #settled(): void {
    this.#underWay?.resolve();
    this.#underWay = undefined;
  }

  /** Calls back once nothing of the request is under way: at once, unless its caller left while it was going on record, or its call goes on. */
  afterCall(callback: () => void): void {
    // What the call failed with is noted a little later.
    if (this.#underWay === undefined) callback();
    else void this.#underWay.promise.then(() => setImmediate(callback));
  }

  /** The reply is out, or broken off: whatever is not on record by now is put there, behind the call. */
  over(status: number | undefined): void {
    this.status = status;
    this.#endedAt = this.#clock.monotonic();
    const failure = this.failure ?? (this.#hasLeft ? new CallerLeft() : undefined);
    if (this.#intended !== undefined) {
      // The rest of a long reply, or what broke it off.
      const brokeOff = this.#recordedWell ? this.failure : undefined;
      if (brokeOff !== undefined || hasGrown(this.#recordedBytes, this.facts)) {
        const key = brokeOff && this.idempotent && keyEffect({ failure: brokeOff }, this, this.idempotent);
        this.#intended.amend(outcomeFacts(this, failure), key);
      }
    } else if (isRecorded(this)) {
      this.#audit.record(outcomeFacts(this, failure, requestFacts(this, this.#url)));
    }
  }

  /** Its caller was gone before anything was answered, and had sent all of it. */
  get #hasLeft(): boolean {
    return this.cutOff && this.#request.complete && !this.#response.headersSent;
  }

  get #url(): string {
    return this.#request.url ?? '';
  }

  failed(failure: GatewayError): void {
    this.failure = failure;
  }
}

const nobody: Principal = { id: '', username: '', roles: [], groups: [] };

/** The first address had the call: that it did not leave would not be true. */
function notFollowed(error: unknown): unknown {
  if (!(error instanceof GatewayError) || error.code !== 'audit-unavailable') return error;
  const detail = 'Going on to the other address cannot be put on record, so nothing was sent there.';
  return new GatewayError('audit-unavailable', detail, { cause: error, headers: { 'Retry-After': '1' } });
}
