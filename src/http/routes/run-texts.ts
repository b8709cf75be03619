import { writeTimeCursor } from '#base/query-parameters.ts';
import type { VisiblePage } from '#base/visible-page.ts';
import type { RouteReply, RouteRequest } from '#http/route.ts';
import { writeTaskCursor } from '#runs/run-list-query.ts';
import type { RunPage } from '#runs/run-listing.ts';
import type { StoredRun, TaskRecord } from '#runs/run-records.ts';

type ShownRun = RunPage['list'][number] & Partial<Pick<StoredRun, 'input' | 'output'>>;

/** A run as JSON text. Its input and output are JSON texts already, and go into it with their digits. */
export function runText(run: ShownRun): string {
  const { id, automation, workflow, version, status, suspendedBy, input, output, error, startedBy, parent } = run;
  // The rows of a listing have no input, and nothing else that one run alone has.
  const isWhole = input !== undefined;
  return objectText({
    id: written(id),
    automation: written(automation?.id),
    workflow: written(workflow),
    version: written(version),
    workflowDigest: isWhole ? written(run.workflowDigest) : undefined,
    status: written(status),
    suspendedBy: written(suspendedBy),
    input,
    output,
    error: written(error),
    notStored: isWhole ? written(run.notStored) : undefined,
    startedBy: written('due' in startedBy ? { ...startedBy, due: isoTime(startedBy.due) } : startedBy),
    parent: written(parent && { run: parent.run, task: String(parent.activity) }),
    involved: isWhole ? written(run.involved.map(shownPerson)) : undefined,
    createdAt: written(isoTime(run.createdAt)),
    startedAt: written(isoTime(run.startedAt)),
    endedAt: written(isoTime(run.endedAt)),
  });
}

/** Names are for reading; ids stay inside. */
function shownPerson({ username: principal, as }: StoredRun['involved'][number]) {
  return { principal, as };
}

export function runPageText({ list, next }: RunPage): string {
  return objectText({ list: `[${list.map(runText).join(',')}]`, cursor: written(next && writeTimeCursor(next)) });
}

export function taskPageText({ list, next }: VisiblePage<TaskRecord, number>): string {
  return objectText({ list: written(list.map(shownTask)), cursor: written(next && writeTaskCursor(next)) });
}

function shownTask({ activity, begin, end, reference, name, iteration, attempt, status, requestId, error }: TaskRecord) {
  return {
    id: String(activity),
    reference,
    name,
    iteration,
    attempt,
    status,
    begin: isoTime(begin),
    end: isoTime(end),
    requestId,
    error,
  };
}

/** An object of members that are JSON texts; those that are undefined are left out. */
function objectText(members: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(members).filter(([, text]) => text !== undefined);
  return `{${given.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

/** Undefined where there is no value. */
function written(value: unknown): string | undefined {
  return JSON.stringify(value);
}

function isoTime(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString();
}

export function jsonReply(status: number, body: string, headers: Readonly<Record<string, string>> = {}): RouteReply {
  return { kind: 'plain', status, headers, body };
}

/** The run that the path names, and who asks. */
export function askedRun({ context, params }: RouteRequest) {
  return { principal: context.record.principal, id: params['id'] ?? '' };
}
