import { readCursor } from '#audit/audit-query.ts';
import {
  choiceParameter,
  cursorMembers,
  cursorParameter,
  limitParameter,
  nameParameter,
  type ParameterReader,
  type ReadQuery,
  readParameters,
  readTimeCursor,
  timeParameter,
} from '#base/query-parameters.ts';
import type { RunStatus } from './interpreter/run-state.ts';
import type { RunCallsRequest } from './run-calls.ts';
import { isRunId } from './run-id.ts';
import type { RunListRequest } from './run-listing.ts';
import type { RunRequest } from './run-requests.ts';

export const runStatuses = [
  'pending',
  'running',
  'waiting',
  'suspended',
  'cancelled',
  'faulted',
  'completed',
] as const satisfies readonly RunStatus[];

/** Of runs, and of the tasks of a run. */
export const runPageSize = { usual: 100, most: 1_000 } as const;

const limit = limitParameter(runPageSize.most);

/** Reads the parameters of `GET /runs`, or answers every problem. */
export function readRunListQuery(parameters: URLSearchParams): ReadQuery<Omit<RunListRequest, 'principal'>> {
  const read = readParameters(parameters, {
    automation: nameParameter,
    workflow: nameParameter,
    status: choiceParameter(runStatuses),
    principal: nameParameter,
    since: timeParameter,
    until: timeParameter,
    limit,
    cursor: cursorParameter((text) => readTimeCursor(text, isRunId)),
  });
  if ('problems' in read) return read;
  const { limit: size = runPageSize.usual, cursor, principal, ...filter } = read.values;
  const query = { filter: { ...filter, username: principal }, page: { limit: size, after: cursor } };
  return { query: query as Omit<RunListRequest, 'principal'> };
}

/** Reads the parameters of `GET /runs/:id/tasks`, or answers every problem. `after`: the number of a task. */
export function readTaskListQuery(
  parameters: URLSearchParams,
): ReadQuery<{ readonly limit: number; readonly after: number | undefined }> {
  const read = readParameters(parameters, { limit, cursor: cursorParameter(readTaskCursor) });
  if ('problems' in read) return read;
  const { limit: size = runPageSize.usual, cursor: after } = read.values as { limit?: number; cursor?: number };
  return { query: { limit: size, after } };
}

const taskId: ParameterReader = {
  parse: (text) => (/^(?:0|[1-9]\d{0,8})$/u.test(text) ? Number(text) : undefined),
  wanted: 'the id of a task',
};

/** Reads the parameters of `GET /runs/:id/calls`, or answers every problem. */
export function readCallListQuery(parameters: URLSearchParams): ReadQuery<Omit<RunCallsRequest, keyof RunRequest>> {
  const read = readParameters(parameters, { task: taskId, limit, cursor: cursorParameter(readCursor) });
  if ('problems' in read) return read;
  const { limit: size = runPageSize.usual, cursor: after, ...filter } = read.values;
  return { query: { limit: size, after, ...filter } as Omit<RunCallsRequest, keyof RunRequest> };
}

/** `activity`: of the last task of the page. */
export function writeTaskCursor(activity: number): string {
  return Buffer.from(JSON.stringify([activity])).toString('base64url');
}

function readTaskCursor(text: string): number | undefined {
  const [activity, ...more] = cursorMembers(text);
  return Number.isSafeInteger(activity) && more.length === 0 ? (activity as number) : undefined;
}
