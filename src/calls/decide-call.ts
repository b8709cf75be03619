import { roles as allRoles, type CustomRole, type Principal, type Role } from '#access/principal.ts';
import type { CustomRoleOptions, Entrance } from '#access/rights/access-options.ts';
import type { ApprovalRule } from '#access/rights/approval-options.ts';
import { decide } from '#access/rights/decide.ts';
import { operations } from '#access/rights/operations.ts';
import { rightName } from '#access/rights/rights.ts';
import type { ErrorCode } from '#base/error-codes.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { CallOperation, RuleDecision } from '#relay/relayed-call.ts';
import { neededApprovals } from './approval-rules.ts';
import { type CallTraits, decideRights } from './custom-rights.ts';

/** Who may make which call. Roles of the operator add rights to it. */
export const callRoles: Readonly<Record<CallOperation, readonly Role[]>> = operations;

/** Who asks for which call, and the rules of the operator for all calls. */
export interface AskedCall extends AskedPermission {
  readonly approvalRules: readonly ApprovalRule[];
  /** By which entrances the call comes; undefined where that is not known. */
  readonly via?: readonly Entrance[] | undefined;
  /** When it is made: milliseconds since the epoch. */
  readonly at: number;
}

interface AskedPermission {
  readonly principal: Principal;
  /** See CallContext. */
  readonly answerable?: readonly Principal[] | undefined;
  /** The operator's own roles (`access.roles`). */
  readonly customRoles: readonly CustomRoleOptions[];
  readonly call: CallTraits;
}

/** What lets a principal make a call: a role of the specification, or a right of one of the operator's roles. */
export type Permission =
  | { readonly kind: 'role'; readonly role: Role }
  | { readonly kind: 'right'; readonly role: CustomRole; readonly right: number };

type PermissionDecision =
  | { readonly allowed: true; readonly permission: Permission }
  | { readonly allowed: false; readonly code: Extract<ErrorCode, 'forbidden' | 'delegation-lost'>; readonly reason: string };

/** Only an allowed decision has the call that can be sent. `rule`: for the audit log. */
export type CallDecision<Prepared> =
  | {
      readonly allowed: true;
      readonly permission: Permission;
      readonly rule: string | undefined;
      /** The rules by which people must approve the call before it leaves. */
      readonly approvals: readonly ApprovalRule[];
      readonly call: Prepared;
    }
  /** `permission` is undefined where neither a role nor a right allows the call. Otherwise a rule of its destination refused it. */
  | {
      readonly allowed: false;
      readonly permission: Permission | undefined;
      readonly rule: string | undefined;
      readonly refusal: GatewayError;
    };

/**
 * The one decision about a call. First the role or the right of its principal; of a call of a run those of everybody who answers for it. Then the operator's rules for its
 * destination (path rights, outbound policy), and the approvals that it needs. `prepare` is called once the call is permitted. What it throws (404 `adapter-not-found`, 400)
 * comes before the rules.
 */
export function decideCall<Prepared extends { decide(): RuleDecision }>(
  asked: AskedCall,
  prepare: () => Prepared,
): CallDecision<Prepared> {
  const permitted = decidePermission(asked);
  if (!permitted.allowed)
    return {
      allowed: false,
      permission: undefined,
      rule: undefined,
      refusal: new GatewayError(permitted.code, permitted.reason),
    };
  const { permission } = permitted;
  const call = prepare();
  const decision = call.decide();
  if (!decision.allowed) return { ...decision, permission };
  const approvals = neededApprovals(asked.approvalRules, asked);
  return { allowed: true, permission, rule: ruleOf(permission, decision.rule), approvals, call };
}

/**
 * Whether a role or a right lets the principal make the call. What is not known of the call is not judged: so an entrance may ask early,
 * before it reads a body. A refusal then holds for every call that could follow.
 */
export function decidePermission({ principal, answerable, customRoles, call }: AskedPermission): PermissionDecision {
  return answerable === undefined ? decideFor(principal, { customRoles, call }) : decideForAll(answerable, { customRoles, call });
}

type PermissionRules = Pick<AskedPermission, 'customRoles' | 'call'>;

function decideFor(principal: Principal, { customRoles, call }: PermissionRules): PermissionDecision {
  const roles = callRoles[call.operation];
  for (const role of roles) if (principal.roles.includes(role)) return permittedBy[role];
  const decision = decideRights(customRoles, principal, call);
  if (decision.allowed) return { allowed: true, permission: { kind: 'right', role: decision.role, right: decision.right } };
  const { reason } = decide({ principal, roles });
  return { allowed: false, code: 'forbidden', reason: decision.reason === undefined ? reason : `${reason} ${decision.reason}` };
}

/** Each of them must be allowed the call. A right of one of them is what the record names. */
function decideForAll(people: readonly Principal[], rules: PermissionRules): PermissionDecision {
  let allowing: Extract<PermissionDecision, { readonly allowed: true }> | undefined;
  for (const person of people) {
    const decision = decideFor(person, rules);
    if (!decision.allowed)
      return {
        allowed: false,
        code: 'delegation-lost',
        reason: `${person.username} answers for this call of a run, and may not make it. ${decision.reason}`,
      };
    if (allowing?.permission.kind !== 'right') allowing = decision;
  }
  return allowing ?? { allowed: false, code: 'delegation-lost', reason: 'No principal answers for this call of a run.' };
}

/** One value for each role: every call asks. */
const permittedBy = Object.fromEntries(
  allRoles.map((role) => [role, { allowed: true, permission: { kind: 'role', role } }]),
) as unknown as Readonly<Record<Role, PermissionDecision>>;

/** A right is always on record, a role of the specification only with the principal. */
function ruleOf(permission: Permission, rule: string | undefined): string | undefined {
  if (permission.kind === 'role') return rule;
  const name = rightName(permission.role, permission.right);
  return rule === undefined ? name : `${name}; ${rule}`;
}
