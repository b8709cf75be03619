import type { Principal } from '#access/principal.ts';
import type { AuditFacts, AuditOutcome } from '#audit/audit-entry.ts';
import { maskedAddress } from '#audit/masked-address.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { CallFacts } from '#relay/call-context.ts';

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
  readonly failure: GatewayError | undefined;
  readonly status: number | undefined;
  readonly duration: number;
}

/** Who asks for what: all that is known before a call is made. */
export function requestFacts(scope: RecordedRequest, url: string): AuditFacts {
  const { verb, address = url, adapter, rule } = scope.facts;
  const { requestId, sourceAddress, principal, failure } = scope;
  return {
    event: 'request',
    requestId,
    traceId: scope.trace.traceId,
    ...(principal.username === '' ? {} : { principal: principal.username, roles: principal.roles }),
    sourceAddress,
    ...(scope.route === undefined ? {} : { route: `${scope.method} ${scope.route}` }),
    ...(adapter === undefined ? {} : { adapter }),
    ...(verb === undefined ? {} : { verb }),
    address: maskedAddress(address).slice(0, longestAddress),
    decision: isDenial(failure) ? 'denied' : 'allowed',
    ...(rule === undefined ? {} : { rule }),
  };
}

function isDenial(failure: unknown): failure is GatewayError {
  return failure instanceof GatewayError && (failure.status === 401 || failure.status === 403);
}

/** What came of a call, as far as it is known now. `failure` is what it ended with, if it failed. */
export function outcomeFacts(scope: RecordedRequest, failure: unknown): AuditFacts {
  const { upstreamStatus, traffic } = scope.facts;
  const { attempts, bytesSent, bytesReceived, left } = traffic?.traffic ?? noTraffic;
  return {
    event: 'request',
    ...(isDenial(failure) ? { decision: 'denied', rule: failure.message.slice(0, 500) } : {}),
    ...(traffic === undefined ? {} : { attempts, bytesSent, bytesReceived }),
    ...(upstreamStatus === undefined ? {} : { upstreamStatus }),
    ...answered(scope, failure),
    outcome: outcomeOf(failure, left && scope.facts.verb !== 'GET'),
    durationMs: Math.round(scope.duration * 100) / 100,
  };
}

const noTraffic = { attempts: 0, left: false, bytesSent: 0, bytesReceived: 0 };

function answered({ status }: RecordedRequest, failure: unknown): Pick<AuditFacts, 'code' | 'status'> {
  if (failure === undefined) return { status: status ?? 200 };
  if (failure instanceof GatewayError) return { status: failure.status, code: failure.code };
  return failure instanceof Error && failure.name === 'CallerLeft'
    ? { code: 'caller-left' }
    : { status: 500, code: 'internal-error' };
}

/** A caller that leaves while its call is under way does not take it back. */
function outcomeOf(failure: unknown, changeLeft: boolean): AuditOutcome {
  if (failure === undefined) return 'ok';
  if (!(failure instanceof GatewayError)) return changeLeft ? 'unknown' : 'failed';
  if (failure.code === 'outcome-unknown') return 'unknown';
  return failure.status < 500 || failure.status === 503 ? 'refused' : 'failed';
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
