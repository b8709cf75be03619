import type { Principal } from '#access/principal.ts';
import type { AuditFacts, AuditOutcome } from '#audit/audit-entry.ts';
import { CallerLeft } from '#base/caller-left.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { withMaskedQuery } from '#base/text/masked-query.ts';
import { TimeLimitPassed, type Traffic } from '#outbound/call/call-scope.ts';

/** What is known of a call; later notes are added to earlier ones. */
export interface CallFacts {
  /** Who asks, where the request is a login. */
  readonly principal?: Principal | undefined;
  /** The name of the adapter instance. */
  readonly adapter?: string | undefined;
  /** The method at the upstream. */
  readonly verb?: string | undefined;
  /** The URL, or the orchestrator's path, as it is sent. */
  readonly address?: string | undefined;
  /** The rule that allowed the call, or refused it. */
  readonly rule?: string | undefined;
  readonly upstreamStatus?: number | undefined;
  /** The automation that the request created, changed or deleted. */
  readonly automation?: { readonly _id: string; readonly name: string } | undefined;
  /** What the request imported: how many automations, and the `_id`s of the first hundred. */
  readonly imported?: { readonly documents: number; readonly ids: readonly string[] } | undefined;
  /** The workflow that a request stored, took or deleted, or whose tombstone it removed; without `version` all versions. */
  readonly workflow?:
    | { readonly id: string; readonly version?: string | undefined; readonly tombstone?: true | undefined }
    | undefined;
  /** The id of the run that the request started, or changed. */
  readonly run?: string | undefined;
  /** The task of a run that makes the call. */
  readonly via?: AuditFacts['via'];
  /** Of a call over MCP: see AuditFacts. */
  readonly client?: AuditFacts['client'];
  /** The caller at the orchestrator, where the call is sent as its caller. */
  readonly actsAs?: AuditFacts['actsAs'];
  /** Set where the writer of a workflow says that the call changes nothing. */
  readonly repeatable?: true | undefined;
  /** The format of the dry run, where the call asks for one. */
  readonly preview?: AuditFacts['preview'];
  /** The form that the request stored or deleted. */
  readonly form?: { readonly id: string } | undefined;
  /** The id of the approval that the call asked for or used, or that the request decided. */
  readonly approval?: string | undefined;
  /** What that approval is about, for people. */
  readonly approvalName?: string | undefined;
  /** Why the person decides so. */
  readonly reason?: string | undefined;
  /** The request id of the earlier call whose reply is the answer again. */
  readonly replays?: string | undefined;
  /** Why the request was refused, where no GatewayError says so. */
  readonly refusal?: string | undefined;
  readonly traffic?: { readonly traffic: Traffic } | undefined;
}

/** The code of a failure: one of the error table, or `caller-left`. */
export function failureCode(failure: unknown): string {
  if (failure instanceof GatewayError) return failure.code;
  return failure instanceof CallerLeft ? 'caller-left' : 'internal-error';
}

/** The outcome of a request, once its reply is out or its connection broke, or of its call once that has ended. */
export function callOutcome(call: {
  readonly failure: unknown;
  /** The status of the reply, once there is one. */
  readonly status: number | undefined;
  /** The reply was not sent to its end. */
  readonly cutOff: boolean;
  /** The reply is kept under an Idempotency-Key. */
  readonly isKept: boolean;
  readonly facts: CallFacts;
}): AuditOutcome {
  const { failure, facts } = call;
  if (failure instanceof GatewayError) return outcomeOfError(failure, facts);
  if (failure === undefined) {
    // A refusal in RFC 6749's shape, or an error that an Idempotency-Key brings again.
    if (call.status !== undefined && call.status >= 400) return outcomeOfError({ status: call.status }, facts);
    if (!call.cutOff || call.isKept) return 'ok';
  }
  // The caller left before the upstream answered: the gateway cannot know what the upstream did.
  return changeLeft(facts) && facts.upstreamStatus === undefined ? 'unknown' : 'failed';
}

function outcomeOfError(error: { readonly status: number; readonly code?: string }, { traffic }: CallFacts): AuditOutcome {
  const speaksOfUs = error.status < 500 || error.status === 503;
  // A call that left may be refused later, at a redirect.
  if (speaksOfUs && traffic?.traffic.left !== true) return 'refused';
  return error.code === 'outcome-unknown' ? 'unknown' : 'failed';
}

/** True where the upstream may have received a call that can change something. */
export function changeLeft({ traffic, verb }: CallFacts): boolean {
  return traffic?.traffic.left === true && verb !== 'GET';
}

/** Why a call failed, as its log line says it. It has no text of a body, and no value of a query. */
export interface Explanation {
  readonly detail: string | undefined;
  /** `scheme://host:port` of a restCall. Its path is left out, because it may be a secret, as in the address of a webhook. */
  readonly destination: string | undefined;
  /** The orchestrator's path, or the path of the request itself. */
  readonly path: string | undefined;
  readonly phase: Phase;
}

/** `request`: nothing was sent. `reply`: the call left. The others are steps between the two, and time limits. */
type Phase = 'request' | 'dns' | 'connect' | 'tls' | 'reply' | TimeLimitPassed['limit'];

/** Characters of a text that are kept. */
const maxLength = 1_000;

interface FailedCall {
  /** Replaces the values of secrets. */
  readonly mask: (text: string) => string;
  readonly principal: Principal;
  readonly facts: CallFacts;
  readonly failure: GatewayError | undefined;
}

/** See CallOrigin. */
interface FailedOrigin {
  readonly route: string | undefined;
  readonly address: string;
}

export function explanationOf(call: FailedCall, origin: FailedOrigin): Explanation {
  const { facts, failure, mask } = call;
  const detail = failure?.logged ?? facts.refusal;
  return {
    detail: detail === undefined ? undefined : mask(detail).slice(0, maxLength),
    ...placeOf(call, origin),
    phase: phaseOf(failure) ?? (facts.traffic?.traffic.left === true ? 'reply' : 'request'),
  };
}

function placeOf({ principal, facts, mask }: FailedCall, origin: FailedOrigin): Pick<Explanation, 'destination' | 'path'> {
  const { adapter, address } = facts;
  if (address !== undefined) {
    return adapter === undefined
      ? { destination: new URL(address).origin, path: undefined }
      : { destination: undefined, path: loggedPath(mask(address)) };
  }
  // What a caller without credentials asks for may be anything.
  const isKnown = principal.username !== '' && origin.route !== undefined;
  return { destination: undefined, path: isKnown ? loggedPath(origin.address) : undefined };
}

function loggedPath(path: string): string {
  return withMaskedQuery(path).slice(0, maxLength);
}

/** The phase that the failure names, or one of the failures that caused it. */
function phaseOf(failure: unknown): Phase | undefined {
  if (failure instanceof TimeLimitPassed) return failure.limit;
  if (!(failure instanceof GatewayError)) return undefined;
  return phaseOf(failure.cause) ?? phasesOfCodes.get(failure.code);
}

const phasesOfCodes: ReadonlyMap<string, Phase> = new Map([
  ['upstream-dns-failed', 'dns'],
  ['upstream-connect-failed', 'connect'],
  ['upstream-tls-failed', 'tls'],
]);
