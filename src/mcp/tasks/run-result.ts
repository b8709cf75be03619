import type { WholeRun } from '#runs/catalogue/run-requests.ts';
import type { AgentNeeds } from '../agent-needs.ts';
import type { ToolRequest } from '../agent-request.ts';
import { type Cursor, maxPage } from '../fence.ts';
import { fencedPage, objectOfOthers, type ToolResult } from '../tool-result.ts';

/** Bytes. A name has at most 256 characters. */
const maxObject = 3_000;

/** The small object of a run. `approvals`: links where people decide what it waits for. */
export function runObject(
  { id, status, automation, suspendedBy, createdAt, endedAt }: WholeRun,
  approvals: readonly string[],
): Readonly<Record<string, unknown>> {
  const time = (at: number | undefined): string | undefined => (at === undefined ? undefined : new Date(at).toISOString());
  const waits = approvals.length === 0 ? {} : { approvals };
  const times = { createdAt: time(createdAt), endedAt: time(endedAt) };
  return { id, status, automation: automation?.name, suspendedBy, ...times, ...waits };
}

/** With its output or its error, which may be what a far side wrote; `***` is in place of passwords that people filled in. */
export function runResult(
  run: WholeRun,
  { approvals, cursor }: { readonly approvals: readonly string[]; readonly cursor?: Cursor | undefined },
): ToolResult {
  const written = run.output ?? (run.error && JSON.stringify(run.error));
  const text = written && run.shown(written);
  const what = run.output === undefined ? 'Its error:' : 'Its output:';
  const narrow = 'The output of the workflow decides how long it is.';
  const most = maxPage - maxObject;
  const more = text === undefined ? [] : [what, ...fencedPage(Buffer.from(text), { source: 'the run', cursor, narrow, most })];
  return objectOfOthers(runObject(run, approvals), { more });
}

const maxApprovals = 5;

export async function waitingApprovals(
  { id, status }: Pick<WholeRun, 'id' | 'status'>,
  { principal }: Pick<ToolRequest, 'principal'>,
  { approvals, linkOf }: AgentNeeds,
): Promise<readonly string[]> {
  if (status !== 'waiting') return [];
  const { list } = await approvals.list({ principal, filter: { run: id, status: 'waiting' }, page: { limit: maxApprovals } });
  return list.map((approval) => linkOf(approval.id));
}
