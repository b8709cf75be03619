import type { RequestProblem } from '#base/gateway-error.ts';
import { readTimestamp } from '#base/timestamp.ts';
import type { RunStatus } from './interpreter/run-state.ts';
import { isRunId } from './run-id.ts';
import type { RunListRequest } from './run-listing.ts';
import type { RunPlace } from './run-queries.ts';

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

type ReadQuery<Query> = { readonly query: Query } | { readonly problems: readonly RequestProblem[] };

interface Reader {
  readonly parse: (text: string) => unknown;
  /** What the value has to be. */
  readonly wanted: string;
}

const name: Reader = {
  parse: (text) => (text === '' || text.includes('\0') ? undefined : text),
  wanted: 'a name',
};
const time: Reader = {
  parse(text) {
    const read = readTimestamp(text);
    return read === undefined ? undefined : Date.parse(read);
  },
  wanted: 'a time such as 2026-11-21T08:00:00Z (RFC 3339; in an address write + as %2B)',
};
const limit: Reader = {
  parse: (text) => (/^[1-9]\d{0,3}$/u.test(text) && Number(text) <= runPageSize.most ? Number(text) : undefined),
  wanted: `a whole number from 1 to ${runPageSize.most}`,
};
const wantedCursor = 'a cursor of this route; take it from the reply before as it is';

/** Reads the parameters of `GET /runs`, or answers every problem. */
export function readRunListQuery(parameters: URLSearchParams): ReadQuery<Omit<RunListRequest, 'principal'>> {
  const read = readParameters(parameters, {
    automation: name,
    workflow: name,
    status: {
      parse: (text) => runStatuses.find((status) => status === text),
      wanted: `one of ${runStatuses.join(', ')}`,
    },
    principal: name,
    since: time,
    until: time,
    limit,
    cursor: { parse: readRunCursor, wanted: wantedCursor },
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
  const cursor = { parse: readTaskCursor, wanted: wantedCursor };
  const read = readParameters(parameters, { limit, cursor });
  if ('problems' in read) return read;
  const { limit: size = runPageSize.usual, cursor: after } = read.values as { limit?: number; cursor?: number };
  return { query: { limit: size, after } };
}

function readParameters(
  parameters: URLSearchParams,
  readers: Readonly<Record<string, Reader>>,
): { readonly values: Readonly<Record<string, unknown>> } | { readonly problems: readonly RequestProblem[] } {
  const problems: RequestProblem[] = [];
  const values: Record<string, unknown> = {};
  for (const given of new Set(parameters.keys())) {
    if (!Object.hasOwn(readers, given))
      problems.push({ pointer: `?${given.slice(0, 128)}`, detail: 'is no query parameter of this route; leave it out' });
  }
  for (const [parameter, { parse, wanted }] of Object.entries(readers)) {
    const [text, ...more] = parameters.getAll(parameter);
    if (text === undefined) continue;
    const value = more.length > 0 ? undefined : parse(text);
    if (value !== undefined) values[parameter] = value;
    else problems.push({ pointer: `?${parameter}`, detail: more.length > 0 ? 'is given more than once' : `is not ${wanted}` });
  }
  return problems.length > 0 ? { problems } : { values };
}

export function writeRunCursor({ createdAt, id }: RunPlace): string {
  return Buffer.from(JSON.stringify([createdAt, id])).toString('base64url');
}

function readRunCursor(text: string): RunPlace | undefined {
  const [createdAt, id, ...more] = cursorMembers(text);
  if (!Number.isSafeInteger(createdAt) || typeof id !== 'string' || !isRunId(id) || more.length > 0) return undefined;
  return { createdAt: createdAt as number, id };
}

/** `activity`: of the last task of the page. */
export function writeTaskCursor(activity: number): string {
  return Buffer.from(JSON.stringify([activity])).toString('base64url');
}

function readTaskCursor(text: string): number | undefined {
  const [activity, ...more] = cursorMembers(text);
  return Number.isSafeInteger(activity) && more.length === 0 ? (activity as number) : undefined;
}

function cursorMembers(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
