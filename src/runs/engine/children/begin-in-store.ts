import type { NamedPrincipal } from '#access/people.ts';
import { withOrigin } from '#workflows/own-events.ts';
import type { ChildEffect, Effect, PublishEffect } from '../../interpreter/effects.ts';
import type { RunEvent } from '../../interpreter/state/run-events.ts';
import { standardError } from '../../interpreter/task-error.ts';
import type { ClaimedRun } from '../../journal/run-records.ts';
import type { RunFaults } from '../run-faults.ts';
import type { RunOutbox } from '../run-outbox.ts';
import type { RunTools } from '../run-tools.ts';
import { childRun, documentFor } from './child-runs.ts';
import { RunBatches } from './run-batches.ts';
import type { RunChildren } from './run-children.ts';

interface Beginning {
  readonly run: ClaimedRun;
  readonly tools: RunTools;
  readonly outbox: RunOutbox;
  readonly children: RunChildren;
  readonly faults: RunFaults;
  /** Takes what happens at once. */
  readonly arrived: (event: RunEvent) => void;
}

/** Children, batches and messages of a run that the store has, or gets with the next write. */
export class BegunInStore {
  readonly #beginning: Beginning;
  readonly #begun = new Map<string, Effect>();
  readonly #batches: RunBatches;

  constructor(beginning: Beginning) {
    this.#beginning = beginning;
    this.#batches = new RunBatches(beginning);
  }

  /** See `RunBatches`. */
  get waitsForWrite(): boolean {
    return this.#batches.waitsForWrite;
  }

  /** Items of batches changed. */
  look(): void {
    this.#batches.look();
  }

  /** The store has what the run had begun. */
  inherit(effect: Effect): void {
    this.#batches.inherit(effect);
    if (!isBegunInStore(effect)) return;
    const { tools, arrived } = this.#beginning;
    this.#begun.set(effect.key, effect);
    if (effect.kind === 'publish') arrived({ kind: 'published', at: tools.clock.now(), key: effect.key });
  }

  /** Cancels children that the run no longer waits for, or whose time limit passed. */
  keepOnly(effects: ReadonlyMap<string, Effect>): void {
    this.#batches.keepOnly(effects);
    for (const [key, effect] of this.#begun) {
      const current = effects.get(key);
      const isOver = current === undefined || (current.kind === 'child' && current.abort);
      if (effect.kind === 'child' && isOver) this.#beginning.children.abandon(effect);
      if (current === undefined) this.#begun.delete(key);
    }
  }

  /** Puts into the next write what the store is to begin of these. */
  async begin(effects: readonly Effect[], isSuspended: boolean): Promise<void> {
    const { faults, tools, arrived } = this.#beginning;
    for (const effect of effects) {
      if (this.#begun.has(effect.key) || !isBegunInStore(effect)) continue;
      const work = () => (effect.kind === 'publish' ? published(effect, this.#beginning) : childBegun(effect, this.#beginning));
      const next = await faults.attempt(effect, { work, now: () => tools.clock.now() });
      if (next !== undefined) arrived(next);
      this.#begun.set(effect.key, effect);
    }
    await this.#batches.advance(effects, isSuspended);
  }
}

function isBegunInStore(effect: Effect): effect is PublishEffect | ChildEffect {
  return effect.kind === 'publish' || effect.kind === 'child';
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

async function childBegun(effect: ChildEffect, { run, tools, outbox, children }: Beginning): Promise<RunEvent | undefined> {
  const { key } = effect;
  const made = childRun(run, effect, await documentFor(run, effect, tools));
  const at = tools.clock.now();
  if ('problem' in made) {
    return { kind: 'failed', at, key, error: standardError('configuration', 'The workflow cannot be run', made.problem) };
  }
  children.begin(made.child);
  outbox.called(effect.activity, effect.input);
  return effect.await ? undefined : { kind: 'childEnded', at, key, result: { kind: 'ok', output: 'null' } };
}
