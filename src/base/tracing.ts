import type { ReceivedTrace, TraceContext } from './trace-context.ts';

/** What may be said of a span. Never a body, a credential or the value of a query parameter. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** Attributes are asked for only where somebody records them. */
export type SpanFacts = () => SpanAttributes;

/** One timed step of a request. */
export interface Span {
  /** For whoever continues the trace from here: its `traceparent` names this span. */
  readonly trace: TraceContext;
  child(options: { readonly name: string; readonly kind: 'client' | 'internal'; readonly facts: SpanFacts }): Span;
  /** The step is over; `failed` marks it as an error. To be called once. */
  end(options: { readonly facts: SpanFacts; readonly failed: boolean }): void;
}

/** Records requests as spans; absent where nobody asked for traces, so that they cost nothing. */
export interface Tracing {
  /** The span of a request: in the caller's trace, or in a new one. */
  request(options: { readonly name: string; readonly received: ReceivedTrace | undefined; readonly facts: SpanFacts }): Span;
}
