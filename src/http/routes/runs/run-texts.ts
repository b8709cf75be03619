import type { RunPage } from '#runs/catalogue/run-listing.ts';
import type { WholeRun } from '#runs/catalogue/run-requests.ts';
import { missingDataOf, type SeenTask } from '#runs/catalogue/run-tasks.ts';
import type { StoredItem } from '#runs/journal/batches/batch-records.ts';
import { isoTime } from '../lists.ts';

/** A run as a listing has it. */
export function listedRun(run: RunPage['list'][number]) {
  const { id, automation, workflow, version, status, suspendedBy, error, startedBy, parent, notBefore, items } = run;
  return {
    id,
    automation: automation?.id,
    automationName: automation?.name,
    workflow,
    version,
    status,
    suspendedBy,
    error,
    startedBy: 'due' in startedBy ? { ...startedBy, due: isoTime(startedBy.due) } : startedBy,
    parent: parent && { run: parent.run, task: String(parent.activity) },
    notBefore: isoTime(notBefore),
    items,
    createdAt: isoTime(run.createdAt),
    startedAt: isoTime(run.startedAt),
    endedAt: isoTime(run.endedAt),
  };
}

/** A run as JSON text. Its input and output are JSON texts already, and go into it with their digits. */
export function runText(run: WholeRun, warnings: readonly string[] = []): string {
  const { output, workflowDigest, notStored, involved, shown } = run;
  // Names are for reading; ids stay inside.
  const people = involved.map(({ username: principal, as }) => ({ principal, as }));
  const warned = warnings.length === 0 ? {} : { warnings };
  const rest = JSON.stringify({ ...listedRun(run), workflowDigest, notStored, involved: people, ...warned });
  const texts = `,"input":${shown(run.input)}${output === undefined ? '' : `,"output":${shown(output)}`}`;
  return `${rest.slice(0, -1)}${texts}}`;
}

/** An item of a batch as JSON text: what it has are JSON texts already. */
export function itemText({ index, run, status, value, output, error, isCut }: StoredItem): string {
  const texts = Object.entries({ item: value, output, error });
  const members = texts.flatMap(([name, text]) => (text === undefined ? [] : [`,"${name}":${text}`]));
  return `${JSON.stringify({ index, run, status }).slice(0, -1)}${members.join('')}${isCut ? ',"truncated":true' : ''}}`;
}

export function shownTask({ activity, begin, end, items, ...task }: SeenTask) {
  const { reference, name, iteration, attempt, status, requestId, label, error } = task;
  const times = { begin: isoTime(begin), end: isoTime(end) };
  const decisions = task.decisions.map((decision) => ({ ...decision, at: isoTime(decision.at) }));
  const more = { label, ...(decisions.length > 0 && { decisions }), noData: missingDataOf({ activity, begin, end, ...task }) };
  return { id: String(activity), reference, name, iteration, attempt, status, ...times, requestId, ...more, items, error };
}
