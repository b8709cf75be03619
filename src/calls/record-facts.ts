import type { Principal } from '#access/principal.ts';
import type { AuditFacts } from '#audit/audit-entry.ts';
import { CallerLeft } from '#base/caller-left.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { withMaskedQuery } from '#base/masked-query.ts';
import type { CallFacts } from './call-facts.ts';
import { callOutcome, failureCode } from './call-outcome.ts';

/** Characters of an address that are kept, and of texts from a caller that is not known. */
const longestAddress = 8_192;
const longestOfUnknown = 200;
/** Characters of the sentence of a refusal, and of a reason, that are kept. */
const longestDetail = 500;
/** Characters of a name that are kept. */
const longestName = 500;

/** The members of CallRecord that a record is made of; importing the class would make a circle. */
interface RecordedCall {
  readonly principal: Principal;
  readonly facts: CallFacts;
  /** Replaces the values of secrets. */
  readonly mask: (text: string) => string;
  readonly cutOff: boolean;
  readonly isKept: boolean;
  readonly failure: GatewayError | undefined;
  readonly replayedCode: string | undefined;
  readonly status: number | undefined;
  readonly hasEnded: boolean;
  readonly duration: number;
}

/** See CallOrigin. */
interface RecordedOrigin {
  readonly requestId: string;
  readonly trace: { readonly traceId: string };
  readonly sourceAddress: string | undefined;
  readonly route: string | undefined;
  readonly address: string;
  readonly isRecorded: boolean;
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** What is known before a call is made: who asks for what. Every record has the same members, so that JSON.stringify is quick. */
export function requestFacts(call: RecordedCall, origin: RecordedOrigin): Writable<AuditFacts> {
  const { verb, address = origin.address, adapter, rule, workflow, run, via, form, approval } = call.facts;
  const { automation, imported, repeatable, preview, approvalName, reason } = call.facts;
  const { principal } = call;
  const known = principal.username !== '';
  return {
    event: 'request',
    requestId: origin.requestId,
    traceId: origin.trace.traceId,
    principal: known ? principal.username : undefined,
    issuer: principal.issuer,
    subject: principal.subject,
    // A copy: JSON.stringify is slow on frozen objects, and all of the configuration is frozen.
    roles: known ? [...principal.roles] : undefined,
    sourceAddress: origin.sourceAddress,
    route: origin.route,
    adapter,
    verb,
    address: call.mask(withMaskedQuery(address)).slice(0, longestAddress),
    automation: automation && { ...automation, name: automation.name.slice(0, longestName) },
    imported,
    workflow,
    run,
    via,
    repeatable,
    preview,
    form,
    approval,
    approvalName: approvalName && call.mask(approvalName).slice(0, longestName),
    reason: reason && call.mask(reason).slice(0, longestDetail),
    proof: undefined,
    decision: isDenied(call) ? 'denied' : 'allowed',
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
    detail: undefined,
  };
}

/** True also for a refusal in RFC 6749's shape, and for one that an Idempotency-Key brings again. */
function isDenied({ failure, status }: RecordedCall): boolean {
  return failure === undefined ? status === 401 || status === 403 : isDenial(failure);
}

function isDenial(failure: unknown): failure is GatewayError {
  if (!(failure instanceof GatewayError)) return false;
  return failure.status === 401 || failure.status === 403 || failure.code === 'delegation-lost';
}

/** The outcome of a call as far as it is known now, alone or added to `facts`. `failure`: what it failed with, if it did. */
export function outcomeFacts(
  call: RecordedCall,
  failure: unknown,
  facts: Writable<AuditFacts> = { event: 'request' },
): AuditFacts {
  if (isDenial(failure)) {
    facts.decision = 'denied';
    facts.rule = failure.rule ?? facts.rule;
    facts.detail = call.mask(failure.message).slice(0, longestDetail);
  }
  const { traffic } = call.facts;
  if (traffic !== undefined) {
    const { attempts, bytesSent, bytesReceived } = traffic.traffic;
    facts.attempts = attempts;
    facts.bytesSent = bytesSent;
    facts.bytesReceived = bytesReceived;
  }
  facts.upstreamStatus = call.facts.upstreamStatus;
  facts.replays = call.facts.replays;
  facts.approval = call.facts.approval;
  facts.status = statusOf(call, failure);
  facts.code = failure === undefined ? call.replayedCode : failureCode(failure);
  facts.outcome = callOutcome({
    failure,
    status: call.status,
    cutOff: call.cutOff,
    isKept: call.isKept,
    facts: call.facts,
  });
  facts.durationMs = Math.round(call.duration * 100) / 100;
  return facts;
}

/**
 * The status that the caller got, or will get. Undefined where the caller left before the reply. A reply that breaks off has its status
 * already.
 */
function statusOf({ status, hasEnded }: RecordedCall, failure: unknown): number | undefined {
  if (hasEnded) return status;
  if (failure === undefined) return 200;
  if (failure instanceof GatewayError) return failure.status;
  return failure instanceof CallerLeft ? undefined : 500;
}

/** True for a request that failed before its caller was known. The name that a failed login tried proves nothing. */
export function isOfUnknown({ principal, facts }: RecordedCall, { outcome }: AuditFacts): boolean {
  return outcome !== 'ok' && (principal.username === '' || facts.principal !== undefined);
}

/** What goes on record of such a request: anybody can send it. */
export function shortened(facts: AuditFacts): AuditFacts {
  const { address, detail } = facts;
  return { ...facts, address: address?.slice(0, longestOfUnknown), detail: detail?.slice(0, longestOfUnknown) };
}

/** True for every request of a kind that goes on record, and for every refusal for who asked (401, 403), on a known route. */
export function isRecorded({ failure }: RecordedCall, { route, isRecorded: always }: RecordedOrigin): boolean {
  return route !== undefined && (always || isDenial(failure));
}

/** True where a long reply brought more bytes after its outcome was recorded. */
export function hasGrown(recordedBytes: number, facts: CallFacts): boolean {
  return (facts.traffic?.traffic.bytesReceived ?? 0) > recordedBytes;
}
