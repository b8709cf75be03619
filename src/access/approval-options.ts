import type { CallLists, Entrance } from './access-options.ts';
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
  readonly selfApproval: SelfApproval;
  /** Milliseconds in which the call must be granted and made. */
  readonly expires: number;
}

/**
 * Who of the people that had a hand in a call may grant it. `false`: none of them. `authors`: those who had a hand in it only as author of its
 * automation, its workflow or its form. `true`: all of them.
 */
export type SelfApproval = boolean | 'authors';

/** The calls that match every list. An empty list matches any call. */
export interface ApprovalCondition extends CallLists {
  readonly routes: readonly (typeof relayOperations)[number][];
  /** Roles of the caller. A call of a run matches in any case. */
  readonly roles: readonly RoleName[];
  /** By the entrance of the call. */
  readonly via: readonly Entrance[];
  /** Milliseconds since the epoch: the rule matches from this time on, and before that one. Absent: at any time. */
  readonly from?: number | undefined;
  readonly until?: number | undefined;
}

/** People with one of the roles, or in one of the groups. */
export interface Approvers {
  readonly roles: readonly RoleName[];
  readonly groups: readonly string[];
}

export function isApprover({ roles, groups }: Pick<Principal, 'roles' | 'groups'>, approvers: Approvers): boolean {
  return approvers.roles.some((role) => roles.includes(role)) || approvers.groups.some((group) => groups.includes(group));
}
