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

/**
 * The one decision about a call: the role of its principal, then the operator's rules for its destination (path rights, outbound policy).
 * Every entrance takes it, because `perform` in call-path.ts does.
 */
export function decideCall(principal: Principal, call: Pick<RelayedCall, 'operation' | 'decide'>): RuleDecision {
  const role = decide({ principal, roles: callRoles[call.operation] });
  if (!role.allowed) return { allowed: false, rule: undefined, refusal: new GatewayError('forbidden', role.reason) };
  return call.decide();
}
