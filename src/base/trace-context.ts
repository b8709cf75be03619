import { randomHex } from './text/random-hex.ts';

/** The trace a call belongs to (W3C Trace Context, level 1). */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits. */
  readonly traceId: string;
  /** The `traceparent` that goes to the upstream: the same trace, the gateway's own span. */
  readonly traceparent: string;
}

/** The valid part of the trace headers that a caller sent. */
export interface ReceivedTrace {
  readonly traceId: string;
  readonly spanId: string;
  /** Two hexadecimal digits; the lowest bit says that the caller records this trace. */
  readonly flags: string;
  /** Present where it is valid. It goes only to the collector (decision 0014). */
  readonly tracestate?: string;
}

/** Later versions may add fields at the end (section 3.2.4). */
const traceparentPattern = /^(?!ff)(?!00.{54})[0-9a-f]{2}-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/u;
/** One member of a tracestate (section 3.3.1). */
const memberPattern = /^[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256}$/u;

/** Reads `traceparent` and `tracestate`. Undefined where `traceparent` is absent or malformed: without it `tracestate` has no meaning. */
export function readTrace(traceparent: unknown, tracestate: unknown): ReceivedTrace | undefined {
  const match = typeof traceparent === 'string' ? traceparentPattern.exec(traceparent) : null;
  if (match === null) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = match;
  const state = typeof tracestate === 'string' && isValid(tracestate) ? { tracestate } : {};
  return { traceId, spanId, flags, ...state };
}

/** At most 512 characters and 32 members: the sizes that every implementation must pass on (section 3.3). */
function isValid(tracestate: string): boolean {
  const members = tracestate.split(',').map((member) => member.trim());
  return tracestate.length <= 512 && members.length <= 32 && members.every((member) => memberPattern.test(member));
}

/** Continues the caller's trace, or starts a new one. */
export function continueTrace(received: ReceivedTrace | undefined): TraceContext {
  const traceId = received?.traceId ?? randomHex(16);
  // Flags that level 1 does not know are sent as 0 (section 3.2.2.5.2).
  const sampled = Number.parseInt(received?.flags ?? '00', 16) & 1;
  return { traceId, traceparent: `00-${traceId}-${randomHex(8)}-0${sampled}` };
}
