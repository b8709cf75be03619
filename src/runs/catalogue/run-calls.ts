import { type RecordPosition, readCursor } from '#audit/audit-query.ts';
import type { AuditReader, AuditRecord } from '#audit/audit-reader.ts';
import type { Clock } from '#base/clock.ts';
import type { UndecidedCall } from '../interpreter/pending.ts';
import { unknownOutcome } from '../interpreter/task-error.ts';
import type { StoredRunSummary } from '../journal/run-queries.ts';
import type { TaskRecord } from '../journal/run-records.ts';
import type { RunStore } from '../journal/run-store.ts';
import type { RunRequest } from './run-requests.ts';

export interface RunCallsRequest extends RunRequest {
  /** The number of the task that made the calls; absent: those of all tasks. */
  readonly task?: number | undefined;
  readonly limit: number;
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

/** Whether the caller may see the run is decided already. */
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

const recordsAtOnce = 1_000;

/** The ids of the tasks whose calls may have changed something. A call that was refused never left. */
async function tasksThatCalled(
  { id, principal, createdAt }: Pick<StoredRunSummary, 'id' | 'principal' | 'createdAt'>,
  { clock, records }: Pick<RunCallsNeeds, 'clock' | 'records'>,
): Promise<ReadonlySet<string>> {
  const tasks = new Set<string>();
  const range = { from: createdAt - slack, to: clock.now() + slack, principal: principal.username };
  let after: RecordPosition | undefined;
  do {
    const query = { ...range, via: { run: id }, limit: recordsAtOnce, ...(after && { after }) };
    const { list, cursor } = await records.list(query, 'oldest');
    for (const { verb, outcome, via } of list) if (verb !== 'GET' && outcome !== 'refused') tasks.add(via?.id ?? '');
    after = cursor === undefined ? undefined : readCursor(cursor);
  } while (after !== undefined);
  return tasks;
}

/** Whether a call of the run may have changed something. Runs that it began count as such calls. */
export async function mayHaveCalled(
  run: Pick<StoredRunSummary, 'id' | 'principal' | 'createdAt'>,
  needs: { readonly store: Pick<RunStore, 'list'> } & Pick<RunCallsNeeds, 'clock' | 'records'>,
): Promise<boolean> {
  const [child] = await needs.store.list({ parent: run.id }, { limit: 1 });
  return child !== undefined || (await tasksThatCalled(run, needs)).size > 0;
}

/**
 * What people are to decide about in a run whose document or state is lost. These are its tasks under way that have called, else all of its
 * tasks under way, else the run as a whole. Empty where none of its calls can have happened.
 */
export async function lostCalls(
  run: StoredRunSummary,
  needs: RunCallsNeeds & { readonly store: Pick<RunStore, 'list'> },
): Promise<readonly UndecidedCall[]> {
  if (!(await mayHaveCalled(run, needs))) return [];
  const called = await tasksThatCalled(run, needs);
  const open = await innermostOpen(run.id, needs.store);
  const calling = open.filter(({ activity }) => called.has(String(activity)));
  const [first, ...others] = calling.length > 0 ? calling : open;
  const whole = { activity: 0, attempt: 1, reference: '/do' };
  const error = { ...unknownOutcome('outcome-unknown: the run is lost, and its calls may have happened'), instance: '' };
  const lost = [first ?? whole, ...others];
  return lost.map(({ activity, attempt, reference }) => ({ activity, attempt, reference, error, isLost: true }));
}

/** Tasks that have not ended and have no such task in them. */
async function innermostOpen(run: string, store: Pick<RunStore, 'tasks'>): Promise<readonly TaskRecord[]> {
  const open: TaskRecord[] = [];
  for (let after = -1; ; ) {
    const page = await store.tasks(run, { limit: recordsAtOnce, after });
    open.push(...page.filter(({ end }) => end === undefined));
    const last = page.at(-1);
    if (last === undefined || page.length < recordsAtOnce) break;
    after = last.activity;
  }
  return open.filter(({ reference }) => !open.some((other) => other.reference.startsWith(`${reference}/`)));
}

/** What readers of a run see of a call: not the roles, the rule and the trace, which `GET /audit` has. */
export function shownCall(record: AuditRecord) {
  const { id, time, requestId, route, adapter, verb, address, redirects, approval, replays, count, via, ...rest } = record;
  const { attempts, upstreamStatus, status, code, outcome, bytesSent, bytesReceived, durationMs, detail } = rest;
  const request = { route, adapter, verb, address, redirects, approval: approval?._id, replays, count };
  const reply = { attempts, upstreamStatus, status, code, outcome, bytesSent, bytesReceived, durationMs, detail };
  return { id, time, requestId, task: via?.id, ...request, ...reply };
}
