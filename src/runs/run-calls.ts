import type { RecordPosition } from '#audit/audit-query.ts';
import type { AuditReader, AuditRecord } from '#audit/audit-reader.ts';
import type { Clock } from '#base/clock.ts';
import type { StoredRunSummary } from './run-queries.ts';
import type { RunRequest } from './run-requests.ts';
import type { RunStore } from './run-store.ts';

/** Which calls of a run. `task`: the number of the task that made them; absent: those of all tasks. */
export interface RunCallsRequest extends RunRequest {
  readonly task?: number | undefined;
  readonly limit: number;
  /** The cursor of the page before, as it was read. */
  readonly after?: RecordPosition | undefined;
}

/** Records of the audit log, the oldest first. A page with a cursor may be shorter than its limit. */
export type RunCallPage = Awaited<ReturnType<AuditReader['list']>>;

interface RunCallsNeeds {
  readonly store: Pick<RunStore, 'tasks'>;
  readonly clock: Clock;
  readonly records: Pick<AuditReader, 'list'>;
}

/** Milliseconds by which the clocks of gateways may differ. A query is recorded at its end, at most as much later. */
const slack = 2_000;

/** The calls of a run that are on record. Whether the caller may see the run is decided already. */
export async function callsOfRun(
  run: StoredRunSummary,
  { task: number, limit, after }: Omit<RunCallsRequest, keyof RunRequest>,
  { store, clock, records }: RunCallsNeeds,
): Promise<RunCallPage> {
  const [task] = number === undefined ? [] : await store.tasks(run.id, { limit: 1, after: number - 1 });
  if (number !== undefined && task?.activity !== number) return { list: [] };
  const { begin, end = clock.now() } = task ?? { begin: run.createdAt, end: run.endedAt };
  const query = {
    from: begin - slack,
    to: end + slack,
    principal: run.principal.username,
    via: { run: run.id, ...(task && { id: String(task.activity), task: task.reference }) },
    limit,
    ...(after && { after }),
  };
  return await records.list(query, 'oldest');
}

/** What readers of a run see of a call: not the roles, the rule and the trace, which `GET /audit` has. */
export function shownCall(record: AuditRecord): Partial<AuditRecord> & { readonly task?: string | undefined } {
  const { id, time, requestId, route, adapter, verb, address, redirects, approval, replays, count, via, ...rest } = record;
  const { attempts, upstreamStatus, status, code, outcome, bytesSent, bytesReceived, durationMs, detail } = rest;
  const request = { route, adapter, verb, address, redirects, approval, replays, count };
  const reply = { attempts, upstreamStatus, status, code, outcome, bytesSent, bytesReceived, durationMs, detail };
  return { id, time, requestId, task: via?.id, ...request, ...reply };
}
