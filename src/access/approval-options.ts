import type { CallLists } from './access-options.ts';
import type { relayOperations } from './operations.ts';
import type { Principal, RoleName } from './principal.ts';

/** A rule of the section `approvals`: people must approve each call that it matches before the call leaves. */
export interface ApprovalRule {
  /** Unique among the rules. */
  readonly name: string;
  readonly when: ApprovalCondition;
  readonly approvers: Approvers;
  /** How many different people must grant. */
  readonly count: number;
  /** Whether the caller may be one of them. */
  readonly selfApproval: boolean;
  /** Milliseconds in which the call must be granted and made. */
  readonly expires: number;
}

/** The calls that match every list. An empty list matches any call. */
export interface ApprovalCondition extends CallLists {
  readonly routes: readonly (typeof relayOperations)[number][];
  /** Roles of the caller. A call of a run matches in any case. */
  readonly roles: readonly RoleName[];
}

/** People with one of the roles, or in one of the groups. */
export interface Approvers {
  readonly roles: readonly RoleName[];
  readonly groups: readonly string[];
}

export function isApprover({ roles, groups }: Pick<Principal, 'roles' | 'groups'>, approvers: Approvers): boolean {
  return approvers.roles.some((role) => roles.includes(role)) || approvers.groups.some((group) => groups.includes(group));
}
