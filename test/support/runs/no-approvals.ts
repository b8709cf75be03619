import type { ApprovalGate } from '../../../src/calls/approval-check.ts';
import type { ApprovalTasks } from '../../../src/runs/tasks/approval-task.ts';

function unexpected(): Promise<never> {
  return Promise.reject(new Error('No approval is expected here.'));
}

/** For tests whose configuration has no approvals. */
export const noApprovalGate: ApprovalGate = { admit: unexpected };

export const noApprovalTasks: ApprovalTasks = { ask: unexpected, isUnused: async () => false, withdraw: async () => undefined };
