import type { NamedPrincipal } from '#access/people.ts';
import { withOrigin } from '#workflows/own-events.ts';
import { childRun, documentFor } from './child-runs.ts';
import type { ChildEffect, PublishEffect } from './interpreter/effects.ts';
import type { RunEvent } from './interpreter/run-events.ts';
import { standardError } from './interpreter/task-error.ts';
import type { RunChildren } from './run-children.ts';
import type { RunOutbox } from './run-outbox.ts';
import type { ClaimedRun } from './run-records.ts';
import type { RunTools } from './run-tools.ts';

interface Beginning {
  readonly run: ClaimedRun;
  readonly tools: RunTools;
  readonly outbox: RunOutbox;
  readonly children: RunChildren;
}

/** Puts into the next write what the store is to begin. Resolves to what happens at once, if anything does. */
export function beginInStore(effect: PublishEffect | ChildEffect, beginning: Beginning): Promise<RunEvent | undefined> {
  return effect.kind === 'publish' ? published(effect, beginning) : childBegun(effect, beginning);
}

async function published({ key, event }: PublishEffect, { run, tools, outbox }: Beginning): Promise<RunEvent> {
  const senders = await sendersOf(run, { tools, outbox });
  const at = tools.clock.now();
  const origin = { sender: run.principal.id, workflow: run.workflow };
  outbox.message({ at, kind: 'message', event: withOrigin(event, origin), senders });
  return { kind: 'published', at, key };
}

/** Everybody involved, with those who joined in the step that emits: they are written together with the event. */
async function sendersOf(
  run: ClaimedRun,
  { tools, outbox }: Pick<Beginning, 'tools' | 'outbox'>,
): Promise<readonly NamedPrincipal[]> {
  const people = [...(await tools.people.involved(run)), ...outbox.people];
  return [...new Map(people.map(({ id, username }) => [id, { id, username }])).values()];
}

async function childBegun(effect: ChildEffect, { run, tools, children }: Beginning): Promise<RunEvent | undefined> {
  const { key } = effect;
  const made = childRun(run, effect, await documentFor(run, effect, tools));
  const at = tools.clock.now();
  if ('problem' in made) {
    return { kind: 'failed', at, key, error: standardError('configuration', 'The workflow cannot be run', made.problem) };
  }
  children.begin(made.child);
  return effect.await ? undefined : { kind: 'childEnded', at, key, result: { kind: 'ok', output: 'null' } };
}
