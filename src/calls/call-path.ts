import type { AdapterInstances } from '#adapters/adapter-instances.ts';
import type { TraceContext } from '#base/trace-context.ts';
import { orchestratorCall } from '#relay/orchestrator-call.ts';
import type { RelayReply } from '#relay/relay-reply.ts';
import type { RelayedCall } from '#relay/relayed-call.ts';
import { type OutboundSection, restCall } from '#relay/rest-call.ts';
import { type Call, methodOf } from './call.ts';
import { type CallContext, openScope } from './call-context.ts';
import type { CallFacts } from './call-facts.ts';
import { decideCall } from './decide-call.ts';
import type { RateLimit } from './rate-limit.ts';
import { recorded } from './recorded.ts';

/** The one way out of the gateway, for every entrance: decide, count, record the intent, send, record the outcome, reply. */
export interface CallPath {
  /**
   * Resolves to the rendered reply, which may be that of an earlier call with the same Idempotency-Key. Rejects with a GatewayError of
   * the error table, or with CallerLeft.
   */
  perform(call: Call, context: CallContext): Promise<RelayReply>;
}

/** A reload replaces what the functions answer; a call keeps to its end what it began with. */
interface CallPathOptions {
  readonly adapters: () => AdapterInstances;
  readonly outbound: () => OutboundSection;
  /** Undefined: no limit. */
  readonly rateLimit: () => RateLimit | undefined;
  /** `User-Agent` of what is sent. */
  readonly userAgent: string;
}

export function createCallPath(options: CallPathOptions): CallPath {
  return {
    async perform(call, context) {
      const { record } = context;
      record.note(subjectOf(call));
      const relayed = relayedCall(call, record.trace, options);
      const decision = decideCall(record.principal, relayed);
      record.note({ rule: decision.rule });
      if (!decision.allowed) throw decision.refusal;
      options.rateLimit()?.count(record.principal);
      const scope = openScope(context, relayed.timeLimit);
      const letGo = relayed.hold();
      try {
        return await recorded({ context, scope, method: relayed.method }, () => relayed.send(scope, record));
      } catch (failure) {
        scope.end();
        throw failure;
      } finally {
        letGo();
      }
    },
  };
}

/** What is on record of a call before it is judged. */
function subjectOf(call: Call): CallFacts {
  if (call.operation === 'restCall') return { verb: call.request.verb, address: call.request.destination.href };
  return { adapter: call.adapter, verb: methodOf(call), address: call.params.path };
}

/** Throws 404 `adapter-not-found`, and 400 where the body cannot be written as its media type asks. */
function relayedCall(call: Call, trace: TraceContext, { adapters, outbound, userAgent }: CallPathOptions): RelayedCall {
  if (call.operation === 'restCall') return restCall({ request: call.request, section: outbound(), trace, userAgent });
  return orchestratorCall({
    passedOn: {},
    ...call,
    adapter: adapters().find(call.adapter),
    method: methodOf(call),
    trace,
    userAgent,
  });
}
