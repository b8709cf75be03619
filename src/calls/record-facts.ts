import type { Principal } from '#access/principal.ts';
import type { AuditFacts } from '#audit/audit-entry.ts';
import { CallerLeft } from '#base/caller-left.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { withMaskedQuery } from '#base/text/masked-query.ts';
import { type CallFacts, callOutcome, failureCode } from './call-outcome.ts';

/** Characters of an address that are kept, and of texts from a caller that is not known. */
const maxAddressLength = 8_192;
const maxUnknownLength = 200;
/** Characters of the sentence of a refusal, and of a reason, that are kept. */
const maxDetailLength = 500;
/** Characters of a name that are kept. */
const maxNameLength = 500;

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
  const { automation, imported, repeatable, preview, client, actsAs, approvalName, reason } = call.facts;
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
    address: call.mask(withMaskedQuery(address)).slice(0, maxAddressLength),
    automation: automation && { ...automation, name: automation.name.slice(0, maxNameLength) },
    imported,
    workflow,
    run,
    via,
    client,
    actsAs,
    repeatable,
    preview,
    form,
    approval,
    approvalName: approvalName && call.mask(approvalName).slice(0, maxNameLength),
    devices: undefined,
    bodySha256: undefined,
    stamp: undefined,
    keptSha256: undefined,
    reason: reason && call.mask(reason).slice(0, maxDetailLength),
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
    facts.detail = call.mask(failure.message).slice(0, maxDetailLength);
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
export function shorten(facts: AuditFacts): AuditFacts {
  const { address, detail } = facts;
  return { ...facts, address: address?.slice(0, maxUnknownLength), detail: detail?.slice(0, maxUnknownLength) };
}

/** True for every request of a kind that goes on record, and for every refusal for who asked (401, 403), on a known route. */
export function isRecorded({ failure }: RecordedCall, { route, isRecorded: always }: RecordedOrigin): boolean {
  return route !== undefined && (always || isDenial(failure));
}

/** True where a long reply brought more bytes after its outcome was recorded. */
export function hasGrown(recordedBytes: number, facts: CallFacts): boolean {
  return (facts.traffic?.traffic.bytesReceived ?? 0) > recordedBytes;
}

/** Characters. A caller's comment follows. */
const maxCommentLength = 200;

/** Who made a change, and by what: `NAME (PRINCIPAL ID) via run RUNID`. The name is cut. */
export function stampComment({ principal, facts }: { readonly principal: Principal; readonly facts: CallFacts }): string {
  const end = ` (${plain(principal.id)}) via ${entranceOf(facts)}`;
  const name = plain(principal.username).slice(0, Math.max(0, maxCommentLength - end.length));
  return `${name}${end}`.slice(0, maxCommentLength).toWellFormed();
}

function entranceOf({ via, approval }: CallFacts): string {
  if (via !== undefined) return `run ${via.run}`;
  return approval === undefined ? 'http' : `approval ${approval}`;
}

/** An issuer chooses names, which must not forge another line of a log. */
function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
}
