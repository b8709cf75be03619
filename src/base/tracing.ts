import type { ReceivedTrace, TraceContext } from './trace-context.ts';

/** Attributes of a span. Never a body, a credential or the value of a query parameter. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** Called only where the span is recorded. */
export type SpanFacts = () => SpanAttributes;

/** One timed step of a request. */
export interface Span {
  /** Goes to the upstream, which continues the trace: its `traceparent` names this span. */
  readonly trace: TraceContext;
  child(options: { readonly name: string; readonly kind: 'client' | 'internal'; readonly facts: SpanFacts }): Span;
  /** Ends the step; `failed` marks it as an error. To be called once. */
  end(options: { readonly facts: SpanFacts; readonly failed: boolean }): void;
}

/** Records requests as spans. Absent where no collector is configured, so that traces cost nothing then. */
export interface Tracing {
  /** Starts the span of a request, in the caller's trace or in a new one. `internal`: no caller sent it, as in a run. */
  request(options: {
    readonly name: string;
    readonly kind?: 'server' | 'internal';
    readonly received: ReceivedTrace | undefined;
    readonly facts: SpanFacts;
  }): Span;
  /** Whether a trace with this id is recorded that begins in the gateway. */
  isRecorded(traceId: string): boolean;
  /** Records a step that is over, in no other one. `trace` names it. `from` and `to` are milliseconds since the epoch. */
  ended(step: {
    readonly name: string;
    readonly trace: TraceContext;
    readonly from: number;
    readonly to: number;
    readonly facts: SpanFacts;
    readonly failed: boolean;
  }): void;
}
