import type { Principal, RoleName } from '../principal.ts';
import type { CallLists, Entrance } from './access-options.ts';
import type { relayOperations } from './operations.ts';

/** People must approve each call that a rule of `approvals` matches before the call leaves. */
export interface ApprovalRule {
  /** Unique. */
  readonly name: string;
  readonly when: ApprovalCondition;
  readonly approvers: Approvers;
  /** Different people. */
  readonly count: number;
  readonly selfApproval: SelfApproval;
  /** Milliseconds in which the call must be granted and made. */
  readonly expires: number;
  /** `batch`: people are asked once for all calls of a batch at one task. Absent: `call`. */
  readonly covers?: 'call' | 'batch';
}

/** Who of those that had a hand in a call may grant it. `authors`: who was only author of its automation, workflow or form. */
export type SelfApproval = boolean | 'authors';

/** Calls that match every list. An empty list matches any. */
export interface ApprovalCondition extends CallLists {
  readonly routes: readonly (typeof relayOperations)[number][];
  /** Of the caller. A call of a run matches in any case. */
  readonly roles: readonly RoleName[];
  readonly via: readonly Entrance[];
  /** Milliseconds since the epoch: from this time on, and before `until`. */
  readonly from?: number | undefined;
  readonly until?: number | undefined;
}

/** One of the roles or groups is enough. */
export interface Approvers {
  readonly roles: readonly RoleName[];
  readonly groups: readonly string[];
}

export function isApprover({ roles, groups }: Pick<Principal, 'roles' | 'groups'>, approvers: Approvers): boolean {
  return approvers.roles.some((role) => roles.includes(role)) || approvers.groups.some((group) => groups.includes(group));
}
