import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log, LogFields } from '#base/log.ts';
import { withMaskedQuery } from '#base/text/masked-query.ts';
import type { TraceContext } from '#base/trace-context.ts';
import type { Span, SpanAttributes } from '#base/tracing.ts';
import type { AttemptWatcher } from '#outbound/call/outbound-call.ts';
import { failureCode } from './call-outcome.ts';

type SentCall = Parameters<AttemptWatcher['begin']>[0];
type Attempt = ReturnType<AttemptWatcher['begin']>;

/** What is kept of the attempts of a request. */
export interface Attempted {
  readonly count: number;
  /** Of the last of them. */
  readonly stateChanging: boolean;
}

/** What is known of the request whose call it is. */
interface CallingScope {
  readonly requestId: string;
  readonly clock: Clock;
  readonly adapter: string | undefined;
  readonly trace: TraceContext;
  readonly span: Span | undefined;
  /** Replaces the values of secrets. */
  readonly mask: (text: string) => string;
  attempted: Attempted | undefined;
}

export interface AttemptObservers {
  readonly metrics: { attemptEnded(call: { readonly adapter: string | undefined }, milliseconds: number): void };
  readonly log: Log;
}

/** Times, logs (at debug) and traces each attempt of one request's call. */
export class AttemptObserver implements AttemptWatcher {
  readonly #scope: CallingScope;
  readonly #observers: AttemptObservers;

  constructor(scope: CallingScope, observers: AttemptObservers) {
    this.#scope = scope;
    this.#observers = observers;
  }

  begin(call: SentCall): ObservedAttempt {
    const scope = this.#scope;
    const count = (scope.attempted?.count ?? 0) + 1;
    scope.attempted = { count, stateChanging: call.stateChanging };
    return new ObservedAttempt({ call, count, scope, observers: this.#observers });
  }
}

/** A failed attempt has a status where its reply had begun. */
interface AttemptResult {
  readonly status?: number | undefined;
  readonly error?: string;
}

class ObservedAttempt implements Attempt {
  readonly headers: readonly string[];
  readonly #call: SentCall;
  readonly #scope: CallingScope;
  readonly #observers: AttemptObservers;
  readonly #startedAt: number;
  readonly #span: Span | undefined;

  constructor(options: {
    readonly call: SentCall;
    readonly count: number;
    readonly scope: CallingScope;
    readonly observers: AttemptObservers;
  }) {
    const { call, count, scope } = options;
    this.#call = call;
    this.#scope = scope;
    this.#observers = options.observers;
    this.#startedAt = scope.clock.monotonic();
    this.#span = scope.span?.child({ name: call.method, kind: 'client', facts: () => attemptFacts(call, scope, count) });
    this.headers = this.#span === undefined ? call.headers : continueTrace(call.headers, scope, this.#span);
  }

  replied(status: number): void {
    this.#end({ status });
  }

  failed(failure: unknown): void {
    const status = failure instanceof GatewayError ? failure.upstream?.status : undefined;
    this.#end({ status, error: failureCode(failure) });
  }

  #end(result: AttemptResult): void {
    const { metrics, log } = this.#observers;
    const milliseconds = this.#scope.clock.monotonic() - this.#startedAt;
    metrics.attemptEnded(this.#scope, milliseconds);
    endSpan(this.#span, result);
    log.debug('attempt', () => attemptFields(this.#scope, this.#call, milliseconds, result));
  }
}

/** A `traceparent` that the caller of restCall wrote itself stays as it is. */
function continueTrace(headers: readonly string[], scope: CallingScope, span: Span): readonly string[] {
  const { traceparent } = scope.trace;
  return headers.map((part, index) =>
    index % 2 === 1 && part === traceparent && headers[index - 1] === 'traceparent' ? span.trace.traceparent : part,
  );
}

function attemptFields(
  { requestId, adapter }: CallingScope,
  { method }: SentCall,
  milliseconds: number,
  { status, error }: AttemptResult,
): LogFields {
  return {
    requestId,
    method,
    durationMs: Math.round(milliseconds * 100) / 100,
    adapter,
    upstreamStatus: status,
    code: error,
  };
}

/** Semantic conventions of an HTTP client span. Values of the query are left out: they may hold secrets. */
function attemptFacts({ origin, path, method }: SentCall, scope: CallingScope, count: number): SpanAttributes {
  const { hostname, port, protocol } = new URL(origin);
  return {
    'http.request.method': method,
    'server.address': hostname.startsWith('[') ? hostname.slice(1, -1) : hostname,
    'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
    'url.scheme': protocol.slice(0, -1),
    'url.full': scope.mask(`${origin}${withMaskedQuery(path, 'REDACTED')}`),
    'http.request.resend_count': count === 1 ? undefined : count - 1,
    'gateway.adapter': scope.adapter,
  };
}

function endSpan(span: Span | undefined, { status, error }: AttemptResult): void {
  const failed = error !== undefined || (status !== undefined && status >= 400);
  const type = error ?? (failed ? String(status) : undefined);
  span?.end({ failed, facts: () => ({ 'http.response.status_code': status, 'error.type': type }) });
}
