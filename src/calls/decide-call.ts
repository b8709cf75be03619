import { decide } from '#access/decide.ts';
import type { Principal, Role } from '#access/principal.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { CallOperation, RelayedCall, RuleDecision } from '#relay/relayed-call.ts';

/** Who may make which call (docs/reference/specification-coverage.md, "Authentication"). An entrance may ask this table early. */
export const callRoles: Readonly<Record<CallOperation, readonly Role[]>> = {
  restCall: ['admin', 'engineering'],
  restAction: ['admin'],
  restQuery: ['admin'],
  restRequest: ['admin'],
};

/** Only an allowed decision has the call that can be sent. */
type CallDecision =
  | { readonly allowed: true; readonly rule: string | undefined; readonly call: RelayedCall }
  | Extract<RuleDecision, { readonly allowed: false }>;

/**
 * The one decision about a call: the role of its principal, then the operator's rules for its destination (path rights, outbound policy).
 * `prepare` is called once the role allows the operation; what it throws (404 `adapter-not-found`, 400) comes before the rules.
 */
export function decideCall(
  { principal, operation }: { readonly principal: Principal; readonly operation: CallOperation },
  prepare: () => RelayedCall,
): CallDecision {
  const role = decide({ principal, roles: callRoles[operation] });
  if (!role.allowed) return { allowed: false, rule: undefined, refusal: new GatewayError('forbidden', role.reason) };
  const call = prepare();
  const decision = call.decide();
  return decision.allowed ? { ...decision, call } : decision;
}
