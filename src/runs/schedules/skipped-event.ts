import type { Automation, LastSkip } from '#automations/automation.ts';
import type { NewEvent } from '../journal/run-records.ts';

/** The event of a due time without a run, as a CloudEvent 1.0. The due time is its id, so that each has one event. */
export function skippedEvent({ _id, name, data }: Automation, { due, code, reason }: LastSkip, at: number): NewEvent {
  const event = {
    specversion: '1.0',
    id: due,
    source: `/automations/${_id}`,
    type: 'orchestration-gateway.occurrence.skipped.v1',
    time: new Date(at).toISOString(),
    subject: _id,
    datacontenttype: 'application/json',
    data: { automation: { _id, name }, workflow: data?.workflowId, due, code, reason },
  };
  return { at, kind: 'lifecycle', event: JSON.stringify(event) };
}
