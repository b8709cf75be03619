import type { Principal } from '#access/principal.ts';
import type { AuditFacts } from '#audit/audit-entry.ts';
import { CallerLeft } from '#base/caller-left.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { withMaskedQuery } from '#base/masked-query.ts';
import type { CallFacts } from '#relay/call-context.ts';
import { callOutcome, failureCode } from './call-outcome.ts';

/** Characters of an address that are kept. */
const longestAddress = 8_192;

/** What a record is made of. */
interface RecordedRequest {
  readonly requestId: string;
  readonly trace: { readonly traceId: string };
  readonly principal: Principal;
  readonly sourceAddress: string;
  readonly route: string | undefined;
  readonly method: string;
  readonly facts: CallFacts;
  readonly cutOff: boolean;
  readonly isKept: boolean;
  readonly failure: GatewayError | undefined;
  readonly replayedCode: string | undefined;
  readonly status: number | undefined;
  readonly duration: number;
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** Who asks for what: all that is known before a call is made. One shape for every record, so that writing it is quick. */
export function requestFacts(scope: RecordedRequest, url: string): Writable<AuditFacts> {
  const { verb, address = url, adapter, rule } = scope.facts;
  const { principal } = scope;
  const known = principal.username !== '';
  return {
    event: 'request',
    requestId: scope.requestId,
    traceId: scope.trace.traceId,
    principal: known ? principal.username : undefined,
    // A copy: JSON.stringify takes its slow way through what is frozen, as all of the configuration is.
    roles: known ? [...principal.roles] : undefined,
    sourceAddress: scope.sourceAddress,
    route: scope.route === undefined ? undefined : routeName(scope.method, scope.route),
    adapter,
    verb,
    address: withMaskedQuery(address).slice(0, longestAddress),
    decision: isDenied(scope) ? 'denied' : 'allowed',
    rule,
    attempts: undefined,
    upstreamStatus: undefined,
    replays: undefined,
    status: undefined,
    code: undefined,
    outcome: undefined,
    bytesSent: undefined,
    bytesReceived: undefined,
    durationMs: undefined,
  };
}

const routeNames = new Map<string, Map<string, string>>();

/** Such as `POST /tools/restCall`; kept, for `JSON.stringify` takes its slow way where a text was just put together. */
function routeName(method: string, route: string): string {
  let byMethod = routeNames.get(route);
  if (byMethod === undefined) routeNames.set(route, (byMethod = new Map()));
  let name = byMethod.get(method);
  if (name === undefined) byMethod.set(method, (name = `${method} ${route}`));
  return name;
}

/** Also where the refusal has a shape of its own (RFC 6749), or is one that is answered once more. */
function isDenied({ failure, status }: RecordedRequest): boolean {
  return failure === undefined ? status === 401 || status === 403 : isDenial(failure);
}

function isDenial(failure: unknown): failure is GatewayError {
  return failure instanceof GatewayError && (failure.status === 401 || failure.status === 403);
}

/** What came of a call, as far as it is known now, alone or added to `facts`. `failure` is what it ended with, if it failed. */
export function outcomeFacts(
  scope: RecordedRequest,
  failure: unknown,
  facts: Writable<AuditFacts> = { event: 'request' },
): AuditFacts {
  if (isDenial(failure)) {
    facts.decision = 'denied';
    facts.rule = failure.message.slice(0, 500);
  }
  const { traffic } = scope.facts;
  if (traffic !== undefined) {
    const { attempts, bytesSent, bytesReceived } = traffic.traffic;
    facts.attempts = attempts;
    facts.bytesSent = bytesSent;
    facts.bytesReceived = bytesReceived;
  }
  facts.upstreamStatus = scope.facts.upstreamStatus;
  facts.replays = scope.facts.replays;
  facts.status = statusOf(scope, failure);
  facts.code = failure === undefined ? scope.replayedCode : failureCode(failure);
  facts.outcome = callOutcome({
    failure,
    status: scope.status,
    cutOff: scope.cutOff,
    isKept: scope.isKept,
    facts: scope.facts,
  });
  facts.durationMs = Math.round(scope.duration * 100) / 100;
  return facts;
}

/** Undefined where nobody was there to be answered. */
function statusOf({ status = 200 }: RecordedRequest, failure: unknown): number | undefined {
  if (failure === undefined) return status;
  if (failure instanceof GatewayError) return failure.status;
  return failure instanceof CallerLeft ? undefined : 500;
}

const alwaysRecorded: ReadonlySet<string> = new Set(['/audit', '/automation_catalog/export']);

/**
 * Which requests are put on record: all that are no plain readings (calls, queries, logins, changes), readings of the whole catalogue or
 * of the log itself, and whatever was refused for who asked. Listings, health and documentation are in the log and the metrics alone.
 */
export function isRecorded({ route, method, failure }: RecordedRequest): boolean {
  if (route === undefined) return false;
  if (isDenial(failure)) return true;
  return (method !== 'GET' && method !== 'HEAD') || alwaysRecorded.has(route);
}

/** More is known now than when the outcome was recorded: the reply was long. */
export function hasGrown(recordedBytes: number, facts: CallFacts): boolean {
  return (facts.traffic?.traffic.bytesReceived ?? 0) > recordedBytes;
}
