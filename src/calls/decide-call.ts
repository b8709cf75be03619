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

interface Asked {
  readonly principal: Principal;
  /** See CallContext. */
  readonly delegated?: readonly Role[] | undefined;
  readonly operation: CallOperation;
}

/** Only an allowed decision has the call that can be sent. */
type CallDecision =
  | { readonly allowed: true; readonly rule: string | undefined; readonly call: RelayedCall }
  | Extract<RuleDecision, { readonly allowed: false }>;

/**
 * The one decision about a call. First the role of its principal, or a delegated one, then the operator's rules for its destination (path rights, outbound policy).
 * `prepare` is called once the role allows the operation; what it throws (404 `adapter-not-found`, 400) comes before the rules.
 */
export function decideCall(asked: Asked, prepare: () => RelayedCall): CallDecision {
  const role = decideRole(asked);
  if (!role.allowed) return { allowed: false, rule: undefined, refusal: new GatewayError('forbidden', role.reason) };
  const call = prepare();
  const decision = call.decide();
  return decision.allowed ? { ...decision, call } : decision;
}

function decideRole({ principal, delegated, operation }: Asked): ReturnType<typeof decide> {
  const roles = callRoles[operation];
  if (delegated === undefined) return decide({ principal, roles });
  const decision = decide({ principal: { ...principal, roles: delegated }, roles });
  if (decision.allowed) return decision;
  const needed = roles.length === 1 ? `the role ${roles.join()}` : `one of the roles ${roles.join(', ')}`;
  const had = delegated.length === 0 ? 'had no role' : `had ${delegated.join(', ')}`;
  const advice = 'A person with that role can store a new version of the workflow.';
  return { allowed: false, reason: `${operation} needs ${needed}; the workflow's writer ${had}. ${advice}` };
}
