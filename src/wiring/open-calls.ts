import type { AuditLog } from '#audit/audit-log.ts';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import { type CallPath, createCallPath } from '#calls/call-path.ts';
import { createPreviews, type TakePreview } from '#previews/preview.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import type { LiveParts } from './live-parts.ts';

/** The path of calls, and the previews, which take it. */
export interface CallParts {
  readonly calls: CallPath;
  readonly preview: TakePreview;
}

export function openCalls(options: {
  readonly live: LiveParts;
  readonly userAgent: string;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}): CallParts {
  const { live, userAgent, audit, clock, log, metrics } = options;
  const calls = createCallPath({ ...live, userAgent });
  return { calls, preview: createPreviews({ calls, audit, clock, observers: { metrics, log } }) };
}
