import { createHash } from 'node:crypto';
import type { TraceContext } from '#base/trace-context.ts';

/** The trace of a run: the same under each holder. Its calls are spans of it. */
export function traceOfRun(id: string): TraceContext {
  const digits = createHash('sha256').update(id).digest('hex');
  const traceId = digits.slice(0, 32);
  return { traceId, traceparent: `00-${traceId}-${digits.slice(32, 48)}-00` };
}
