import type { WholeRun } from '#runs/catalogue/run-requests.ts';
import type { AgentNeeds } from '../agent-needs.ts';
import type { ToolRequest } from '../agent-request.ts';
import { runResult, waitingApprovals } from './run-result.ts';
import { type AgentTask, pollInterval } from './task-created.ts';

/** A run as a task. Its id is that of the run. */
export async function runTask(run: WholeRun, request: Pick<ToolRequest, 'principal'>, needs: AgentNeeds): Promise<AgentTask> {
  const { id, status, createdAt, startedAt = createdAt, endedAt } = run;
  const approvals = await waitingApprovals(run, request, needs);
  const ended = endedAt === undefined ? undefined : { approvals };
  const result = ended && runResult(run, ended);
  return {
    taskId: id,
    status: ended === undefined ? 'working' : status === 'cancelled' ? 'cancelled' : 'completed',
    statusMessage: messageOf(run, approvals),
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(endedAt ?? startedAt).toISOString(),
    ttlMs: null,
    pollIntervalMs: pollInterval,
    ...(result && status !== 'cancelled' && { result: status === 'faulted' ? { ...result, isError: true } : { ...result } }),
  };
}

function messageOf({ status, suspendedBy }: WholeRun, approvals: readonly string[]): string {
  if (approvals.length > 0) return `The run waits for people, who decide at ${approvals.join(' and ')}`;
  return suspendedBy === undefined ? `The run is ${status}.` : `The run is ${status} (${suspendedBy}): a person has to decide.`;
}
