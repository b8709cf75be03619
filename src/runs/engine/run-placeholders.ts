import type { RunEvent } from '../interpreter/state/run-events.ts';
import { standardError } from '../interpreter/task-error.ts';
import type { BatchWrite } from '../journal/batches/batch-records.ts';
import type { NewEvent, NewRun, RunCommand, RunWrite } from '../journal/run-records.ts';
import type { RunSecrets } from '../secrets/run-secrets.ts';

/**
 * Only expressions of the document make placeholders. What comes from elsewhere and has one fails its task. Otherwise an upstream, a sender of events
 * or a person could have the run put a secret where they read it.
 */
export function withoutPlaceholders(event: RunEvent, secrets: RunSecrets): RunEvent {
  const given = givenBy(event);
  if (given === undefined || !secrets.isIn(given)) return event;
  if (event.kind === 'decided') return { ...event, as: 'refused', error: forged('output that people gave') };
  if (event.kind === 'callEnded' || event.kind === 'childEnded')
    return { ...event, result: { kind: 'error', error: forged('reply') } };
  const what = event.kind === 'fetched' ? 'document' : 'event';
  return 'key' in event ? { kind: 'failed', at: event.at, key: event.key, error: forged(what) } : event;
}

function givenBy(event: RunEvent): string | undefined {
  switch (event.kind) {
    case 'callEnded':
    case 'childEnded':
      return event.result.kind === 'ok' ? event.result.output : undefined;
    case 'fetched':
      return event.document;
    case 'eventArrived':
      return event.match;
    case 'decided':
      return event.output;
    default:
      return undefined;
  }
}

function forged(what: string): ReturnType<typeof standardError> {
  const detail = `The ${what} has a placeholder of a secret, which only the document's own expressions may make.`;
  return standardError('authorization', 'A secret may not be used', detail);
}

/** A write of the run as readers and other runs get it; its data is masked already. The state keeps the placeholders, for the calls to come. */
export function hiddenWrite<
  W extends Pick<RunWrite, 'output' | 'error' | 'tasks' | 'decisions' | 'events' | 'children' | 'batches' | 'commands'>,
>(write: W, hide: RunSecrets['hide']): W {
  const hidden = <T>(value: T): T => {
    if (value === undefined) return value;
    const text = JSON.stringify(value);
    const shown = hide(text);
    return shown === text ? value : (JSON.parse(shown) as T);
  };
  return {
    ...write,
    output: write.output === undefined ? undefined : hide(write.output),
    error: hidden(write.error),
    tasks: hidden(write.tasks),
    decisions: hidden(write.decisions),
    events: write.events.map((event): NewEvent => ({ ...event, event: hide(event.event) })),
    children: write.children.map((child): NewRun => ({ ...child, input: hide(child.input) })),
    batches: write.batches?.map((batch) => withHiddenItems(batch, hide)),
    commands: write.commands.map(({ run, command }) => ({ run, command: hidden<RunCommand>(command) })),
  };
}

function withHiddenItems({ begins, ...batch }: BatchWrite, hide: RunSecrets['hide']): BatchWrite {
  if (begins === undefined) return batch;
  return { ...batch, begins: { ...begins, items: begins.items.map(({ index, value }) => ({ index, value: hide(value) })) } };
}
