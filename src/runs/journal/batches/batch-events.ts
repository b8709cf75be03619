import type { Tables } from '#database/tables/tables.ts';
import type { StoredRunSummary } from '../run-queries.ts';
import type { NewEvent } from '../run-records.ts';

/** A batch of which an event tells. `undecided`: it waits for their decisions alone. */
export interface ToldBatch {
  readonly row: Tables['run_batch'];
  readonly kind: 'undecided' | 'ended';
}

/** A CloudEvent 1.0. Its id is made of the batch and the kind, so that each has one event. `run`: the one that has the batch. */
export function batchEvent({ row, kind }: ToldBatch, { automation, workflow }: StoredRunSummary, at: number): NewEvent {
  const { run, activity, attempt, reference: task, state, total, completed, failed, unknown, cancelled } = row;
  const named = automation && { automation: { _id: automation.id, name: automation.name } };
  const counts = { total, completed, failed, unknown, cancelled, notStarted: row.not_started };
  const event = {
    specversion: '1.0',
    id: `${activity}.${attempt}.${kind}`,
    source: `/runs/${run}`,
    type: `orchestration-gateway.batch.${kind}.v1`,
    time: new Date(at).toISOString(),
    subject: run,
    datacontenttype: 'application/json',
    data: { run, ...named, workflow, task, id: String(activity), ...(kind === 'ended' && { status: state }), ...counts },
  };
  return { at, kind: 'lifecycle', event: JSON.stringify(event) };
}
