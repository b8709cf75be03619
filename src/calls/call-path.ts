import type { CustomRoleOptions, Entrance } from '#access/rights/access-options.ts';
import type { ApprovalRule } from '#access/rights/approval-options.ts';
import type { AdapterInstances } from '#adapters/adapter-instances.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { CallScope } from '#outbound/call/call-scope.ts';
import type { OutboundCall } from '#outbound/call/outbound-call.ts';
import type { MaskBody } from '#relay/body-mask.ts';
import { orchestratorCall } from '#relay/orchestrator-call.ts';
import type { CallReply, RelayedCall } from '#relay/relayed-call.ts';
import { type OutboundSection, restCall } from '#relay/rest-call.ts';
import type { ApprovalGate, ApprovalPermit } from './approval-check.ts';
import { neededApprovals } from './approval-rules.ts';
import { type Call, isPreview, methodOf } from './call.ts';
import type { CallAnswer } from './call-answer.ts';
import { type CallContext, TooEarly } from './call-context.ts';
import type { CallRecord } from './call-record.ts';
import { traitsOf } from './custom-rights.ts';
import { type AskedCall, decideCall, decidePermission } from './decide-call.ts';
import { type IdentityNeeds, identifyCaller } from './identify-caller.ts';
import type { RateLimit } from './rate-limit.ts';
import { sendRecorded } from './send-recorded.ts';

/** The one way out of the gateway, for every entrance: decide, count, record the intent, send, record the outcome, reply. */
export interface CallPath {
  /**
   * Resolves to the upstream's reply, unrendered, or to the answer of an earlier call with the same Idempotency-Key. Rejects with a
   * GatewayError of the error table, with CallerLeft, or with TooEarly.
   */
  perform(call: Call, context: CallContext): Promise<CallAnswer>;
}

/** A reload replaces what the functions answer; a call keeps to its end what it began with. */
interface CallPathOptions {
  readonly adapters: () => AdapterInstances;
  readonly outbound: () => OutboundSection;
  /** The operator's own roles. */
  readonly customRoles: () => readonly CustomRoleOptions[];
  readonly approvalRules: () => readonly ApprovalRule[];
  readonly gate: ApprovalGate;
  readonly identities: IdentityNeeds;
  /** Undefined: no limit. */
  readonly rateLimit: () => RateLimit | undefined;
  /** For the audit log. */
  readonly maskBody: MaskBody;
  /** `User-Agent` of what is sent. */
  readonly userAgent: string;
}

export function createCallPath(options: CallPathOptions): CallPath {
  return {
    async perform(call, context) {
      const { record, answerable, via = ['http'], seal } = context;
      const { principal } = record;
      const at = record.clock.now();
      const traits = traitsOf(call, entranceOf(via));
      const asked: AskedCall = { ...rulesOf(options), principal, answerable, via, at, call: traits };
      const decision = decideCall(asked, () => prepareCall(call, { asked, record, seal }, options));
      record.note({ rule: decision.rule });
      if (!decision.allowed) throw decision.refusal;
      const relayed = decision.call;
      // A reload may replace the adapter instance meanwhile.
      const release = relayed.hold();
      try {
        if (relayed.callers !== undefined) await noteIdentity(relayed.callers, context, options);
        const admit = admission(call, { rules: decision.approvals, context }, options.gate);
        if (context.notBefore !== undefined && at < context.notBefore) {
          await admit?.();
          throw new TooEarly();
        }
        options.rateLimit()?.count(context.asker ?? principal);
        record.stamped = relayed.stamp;
        return await sendInScope(relayed, { context, admit }, options);
      } finally {
        release();
      }
    },
  };
}

/** Rejects with `identity-unmapped`: nothing is sent. */
async function noteIdentity(
  callers: NonNullable<RelayedCall['callers']>,
  { record, answerable, owner, isRemembered = false }: CallContext,
  { identities }: CallPathOptions,
): Promise<void> {
  const { principal } = record;
  record.note({ actsAs: await identifyCaller(callers, { principal, isRemembered, answerable, owner }, identities) });
}

async function sendInScope(
  relayed: RelayedCall,
  { context, admit }: { readonly context: CallContext; readonly admit: ReturnType<typeof admission> },
  { maskBody }: CallPathOptions,
): Promise<CallAnswer> {
  const { record, seal } = context;
  const scope = openScope(context, relayed.timeLimit);
  try {
    const mask = (text: string): string => (seal === undefined ? record.mask(text) : seal.masked(text));
    const shownBody = async (): Promise<string | undefined> =>
      relayed.body && mask(await maskBody(relayed.body, seal?.hiddenFields));
    const sending = { context, scope, method: relayed.method, shownBody, admit };
    return await sendRecorded(sending, () => send(relayed, scope, record));
  } catch (failure) {
    scope.end();
    throw failure;
  }
}

/** Where rights count: a run that an MCP client started calls as any run does. */
function entranceOf(via: readonly Entrance[]): Entrance {
  return via.includes('run') ? 'run' : (via[0] ?? 'http');
}

function rulesOf({ customRoles, approvalRules }: CallPathOptions): Pick<AskedCall, 'customRoles' | 'approvalRules'> {
  return { customRoles: customRoles(), approvalRules: approvalRules() };
}

/**
 * Undefined where no rule matches the call, its caller names no approval, and no one was asked. One that it names is used up in any case. A
 * preview needs none: it leaves as a dry run alone.
 */
function admission(
  call: Call,
  {
    rules,
    context: { record, approval = {}, involved = [] },
  }: { readonly rules: readonly ApprovalRule[]; readonly context: CallContext },
  gate: ApprovalGate,
): (() => Promise<ApprovalPermit | undefined>) | undefined {
  const isFree = rules.length === 0 && approval.id === undefined && approval.isAsked !== true;
  if (isPreview(call) || isFree) return undefined;
  const { principal } = record;
  return () => gate.admit({ principal, involved, call, rules, reference: approval });
}

/** Sends the call. Where it fails although its reply had begun, the status of that goes on record. */
async function send(relayed: RelayedCall, scope: CallScope, record: CallRecord): Promise<CallReply> {
  try {
    return await relayed.send(scope, record);
  } catch (failure) {
    if (failure instanceof GatewayError && failure.upstream !== undefined)
      record.note({ upstreamStatus: failure.upstream.status });
    throw failure;
  }
}

/** Notes what is on record of a call before its rules are asked. Throws 404 `adapter-not-found`, and 400 for a body that cannot be written. */
function prepareCall(
  call: Call,
  { asked, record, seal }: { readonly asked: AskedCall } & Pick<CallContext, 'record' | 'seal'>,
  { adapters, outbound, userAgent }: CallPathOptions,
): RelayedCall {
  if (call.operation === 'restCall') {
    const { request, follows } = call;
    record.note({ verb: request.verb, address: request.destination.href });
    const { principal, trace } = record;
    const refuseHop = hopRefusal(asked, request.destination.origin);
    return restCall({ request, follows, section: outbound(), caller: principal.id, trace, userAgent, refuseHop, seal });
  }
  const adapter = adapters().find(call.adapter);
  const method = methodOf(call);
  record.note({ adapter: adapter.name, verb: method, address: call.params.path });
  return orchestratorCall({ passedOn: {}, ...call, adapter, method, trace: record.trace, userAgent, seal });
}

/** Asks for each redirect whether a role or a right allows a call to its path: the upstream chose it, not the caller. */
function hopRefusal(
  asked: AskedCall,
  origin: string,
): (hop: { readonly method: OutboundCall['method']; readonly url: URL }) => GatewayError | undefined {
  return ({ method, url }) => {
    const hop: AskedCall = { ...asked, call: { ...asked.call, method, path: url.pathname, destination: url.origin } };
    const decision = decidePermission(hop);
    if (decision.allowed) return unapproved({ asked, origin }, hop, url);
    const detail = `The upstream redirects to ${method} ${url.origin}${url.pathname}, and you may not call that. ${decision.reason}`;
    return new GatewayError('forbidden', detail, {
      logged: 'The upstream redirects to an address that the caller may not call.',
    });
  };
}

/** The approval of a call does not cover an address that another rule matches, or one of another origin, which no approver has seen. */
function unapproved(
  { asked, origin }: { readonly asked: AskedCall; readonly origin: string },
  hop: AskedCall,
  url: URL,
): GatewayError | undefined {
  const covered = url.origin === origin ? neededApprovals(asked.approvalRules, asked) : [];
  const missing = neededApprovals(hop.approvalRules, hop).find((rule) => !covered.includes(rule));
  if (missing === undefined) return undefined;
  const detail = `The upstream redirects to ${hop.call.method} ${url.origin}${url.pathname}, which needs the approval "${missing.name}". Call that address itself.`;
  return new GatewayError('redirect-refused', detail, { rule: `approval ${missing.name}` });
}

/** Opens the time of a call: `limit` in milliseconds, or less where the caller asked for less. It ends when the caller leaves, unless
 * its scope is detached from the caller. */
function openScope(context: CallContext, limit: number): CallScope {
  const { record, wait = limit } = context;
  const setBy = wait < limit ? 'Prefer: wait' : undefined;
  const scope = new CallScope({ total: Math.min(limit, wait), setBy, clock: record.clock, attempts: record.attempts });
  record.note({ traffic: scope });
  context.whenEnded((complete) => {
    if (complete) scope.end();
    else scope.callerLeft();
  });
  return scope;
}
