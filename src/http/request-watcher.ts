import type { AttemptObservers } from '#calls/attempts.ts';
import type { RequestScope } from './request-scope.ts';

/** Counts and times requests; every method must be cheap. `telemetry/` implements it. */
export interface RequestWatcher {
  /** Registers how many connections of callers are open, and the limit of them. */
  watchConnections(open: () => number, limit: number): void;
  requestStarted(): void;
  /** `status`: undefined where the caller left before the reply. */
  requestEnded(scope: RequestScope, status: number | undefined): void;
  readonly attemptEnded: AttemptObservers['metrics']['attemptEnded'];
}

/** Methods that metrics and traces name; they name any other method `other`. */
export const standardMethods: ReadonlySet<string> = new Set(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']);
