import type { IncomingMessage } from 'node:http';
import { GatewayError } from '#base/gateway-error.ts';
import type { Span, Tracing } from '#base/tracing.ts';
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

/** Opens the span of a request by the semantic conventions of an HTTP server. */
export function openRequestSpan(tracing: Tracing, request: IncomingMessage, scope: RequestScope): Span {
  const method = standardMethods.has(scope.method) ? scope.method : undefined;
  const { routePattern: route } = scope;
  return tracing.request({
    name: [method ?? 'HTTP', ...(route === undefined ? [] : [route])].join(' '),
    received: scope.received,
    facts: () => ({
      'http.request.method': method ?? '_OTHER',
      'http.route': route,
      // A path without a route is free text of the caller; any other is described by `http.route`.
      'url.path': route === undefined ? undefined : request.url?.split('?', 1)[0],
      'url.scheme': 'encrypted' in request.socket ? 'https' : 'http',
      'client.address': scope.sourceAddress,
      'network.protocol.version': request.httpVersion,
      'gateway.request.id': scope.requestId,
    }),
  });
}

export function endRequestSpan(span: Span, scope: RequestScope, status: number | undefined): void {
  const { code, cutOff, adapter, attempted, facts } = scope.record;
  const cause = code ?? (cutOff ? 'cut-off' : undefined);
  span.end({
    // A 4xx is a fault of the caller's request, and no failure of the server (OpenTelemetry's HTTP conventions).
    failed: cutOff || (status !== undefined && status >= 500),
    facts: () => ({
      'http.response.status_code': status,
      'error.type': cause,
      'gateway.adapter': adapter,
      'gateway.attempts': attempted?.count,
      'gateway.upstream.status_code': facts.upstreamStatus,
    }),
  });
}

/** Traces the decision about a request: authentication, role and the checks of its head. */
export async function traceDecision(span: Span, decide: () => void | Promise<void>): Promise<void> {
  const decision = span.child({ name: 'decision', kind: 'internal', facts: () => ({}) });
  try {
    await decide();
    decision.end({ failed: false, facts: () => ({ 'gateway.decision.allowed': true }) });
  } catch (error) {
    const code = error instanceof GatewayError ? error.code : 'internal-error';
    // A refusal is a regular decision; only a decision that could not be made is a failure.
    const failed = !(error instanceof GatewayError) || error.status >= 500;
    decision.end({ failed, facts: () => ({ 'gateway.decision.allowed': false, 'error.type': code }) });
    throw error;
  }
}
