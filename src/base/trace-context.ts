import { randomUUID } from 'node:crypto';

/** The trace a call belongs to (W3C Trace Context, level 1). */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits. */
  readonly traceId: string;
  /** The `traceparent` that goes to the far side: the same trace, the gateway's own span. */
  readonly traceparent: string;
}

const traceparentPattern = /^(?!ff)[0-9a-f]{2}-((?!0{32})[0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(?:$|-)/u;

/** Continues the caller's trace; starts a new one where the caller sent none or a malformed one. */
export function continueTrace(received: string | undefined): TraceContext {
  const match = received === undefined ? null : traceparentPattern.exec(received);
  const traceId = match?.[1] ?? randomUUID().replaceAll('-', '');
  const spanId = randomUUID().replaceAll('-', '').slice(16);
  return { traceId, traceparent: `00-${traceId}-${spanId}-${match?.[2] ?? '00'}` };
}
