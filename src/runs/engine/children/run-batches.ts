import { defined } from '#base/text/defined.ts';
import type { BatchEffect, Effect } from '../../interpreter/effects.ts';
import type { OutsideResult, RunEvent } from '../../interpreter/state/run-events.ts';
import { type EffectError, standardError } from '../../interpreter/task-error.ts';
import type { NewBatch, StoredBatch } from '../../journal/batches/batch-records.ts';
import type { ParentCall } from '../../journal/run-parent.ts';
import type { ClaimedRun } from '../../journal/run-records.ts';
import type { RunFaults } from '../run-faults.ts';
import type { RunOutbox } from '../run-outbox.ts';
import type { RunTools } from '../run-tools.ts';
import { batchResult, planOf, stops } from './batch-plan.ts';
import { childRun, documentFor } from './child-runs.ts';
import type { RunChildren } from './run-children.ts';

interface BatchNeeds {
  readonly run: ClaimedRun;
  readonly tools: RunTools;
  readonly outbox: RunOutbox;
  readonly children: RunChildren;
  readonly faults: RunFaults;
  /** Takes what happens at once. */
  readonly arrived: (event: RunEvent) => void;
}

interface OpenBatch {
  effect: BatchEffect;
  /** An earlier holder may have begun it. */
  readonly isInherited: boolean;
  /** The store has it, or gets it with the next write. */
  isBegun: boolean;
  /** Something may have changed for it. */
  looks: boolean;
  wasSuspended: boolean;
  /** Indices of items that begin with the next write. */
  starts: readonly number[];
  hasEnded: boolean;
}

/**
 * The batches of a run while a gateway holds it. How far a batch is stays in the store, which counts the ends of its items. The holder begins the
 * next ones with its own writes.
 */
export class RunBatches {
  readonly #needs: BatchNeeds;
  readonly #open = new Map<string, OpenBatch>();
  /** Batches whose open items are to be cancelled. */
  #abandoned: ParentCall[] = [];

  constructor(needs: BatchNeeds) {
    this.#needs = needs;
  }

  /** The store may have what the run had begun. */
  inherit(effect: Effect): void {
    if (effect.kind === 'batch') this.#open.set(effect.key, openBatch(effect, true));
  }

  /** A batch goes on once the store has it. */
  get waitsForWrite(): boolean {
    return [...this.#open.values()].some(({ isBegun, looks, hasEnded }) => isBegun && looks && !hasEnded);
  }

  /** Items may have ended, or be unknown or decided. */
  look(): void {
    for (const batch of this.#open.values()) batch.looks = true;
  }

  /** Ends batches that the run no longer waits for, or whose time limit passed. */
  keepOnly(effects: ReadonlyMap<string, Effect>): void {
    for (const [key, batch] of this.#open) {
      const current = effects.get(key);
      if (current?.kind === 'batch') {
        if (current.abort && !batch.effect.abort) this.#abandon(batch);
        batch.effect = current;
      } else {
        if (!batch.hasEnded) {
          this.#abandon(batch);
          if (batch.isBegun || batch.isInherited) this.#needs.outbox.batch({ ...this.#callOf(batch), state: 'cancelled' });
        }
        this.#open.delete(key);
      }
    }
  }

  #abandon(batch: OpenBatch): void {
    batch.looks = true;
    this.#abandoned.push(this.#callOf(batch));
  }

  /** Puts into the next write what the store is to begin, and what it is to keep of the batches. */
  async advance(effects: readonly Effect[], isSuspended: boolean): Promise<void> {
    const { tools, children, faults, arrived } = this.#needs;
    for (const call of this.#abandoned.splice(0)) for (const child of await tools.openItems(call)) children.cancel(child);
    for (const effect of effects) {
      if (effect.kind !== 'batch') continue;
      const batch = this.#open.get(effect.key) ?? openBatch(effect, false);
      this.#open.set(effect.key, batch);
      if (batch.wasSuspended !== isSuspended) batch.looks = true;
      batch.wasSuspended = isSuspended;
      if (!batch.looks || batch.hasEnded) continue;
      batch.looks = false;
      const work = async (): Promise<RunEvent | undefined> => await (batch.isBegun ? this.#goOn(batch) : this.#begin(batch));
      const next = await faults.attempt(effect, { work, now: () => tools.clock.now() });
      if (next !== undefined) arrived(next);
    }
  }

  #callOf({ effect: { activity, attempt } }: OpenBatch): ParentCall {
    return { run: this.#needs.run.id, activity, attempt };
  }

  /** The items begin once the store has the batch. */
  async #begin(batch: OpenBatch): Promise<RunEvent | undefined> {
    const { tools, outbox } = this.#needs;
    const { effect, isInherited } = batch;
    const call = this.#callOf(batch);
    const isKnown = isInherited && (await tools.batch(call)) !== undefined;
    if (effect.items === undefined && !isKnown) return this.#failed(batch, lostItems);
    if (effect.items !== undefined && effect.abort) {
      outbox.batch({ ...call, state: 'cancelled' });
      return this.#ended(batch, { kind: 'aborted' });
    }
    if (!isKnown) {
      const problem = await this.#create(batch, call);
      if (problem !== undefined) return this.#failed(batch, problem);
    }
    batch.isBegun = true;
    if (effect.items === undefined) return await this.#goOn(batch);
    batch.looks = true;
    return { kind: 'batchBegun', at: tools.clock.now(), key: effect.key };
  }

  /** Answers why it cannot begin. */
  async #create({ effect }: OpenBatch, call: ParentCall): Promise<EffectError | undefined> {
    const { run, tools, outbox } = this.#needs;
    const document = await documentFor(run, effect, tools);
    const problem = whyNot(run, effect, document !== undefined);
    if (problem !== undefined) return problem;
    const { reference, workflow, version, failures, stopAfter } = effect;
    // One approval for all calls shows the call of one item.
    const canary = Math.max(effect.canary, (await tools.asksOnce({ id: workflow, version })) ? 1 : 0);
    const rules = { parallel: this.#parallel(effect), canary, failures, stopAfter };
    const named = { reference, turn: [...(run.around ?? []), ...effect.turn], workflow, version, digest: document?.digest };
    const items = (await leftItems(run, { ...call, ...named }, tools)) ?? itemsOf(effect);
    outbox.batch({ ...call, begins: { ...call, ...named, ...rules, items } });
    outbox.called(effect.activity, argumentsOf(effect, items));
    return undefined;
  }

  async #goOn(batch: OpenBatch): Promise<RunEvent | undefined> {
    const { tools, outbox } = this.#needs;
    const { effect } = batch;
    const call = this.#callOf(batch);
    const stored = await tools.batch(call);
    // The next write has it.
    if (stored === undefined) {
      batch.looks = true;
      return undefined;
    }
    if (stored.endedAt !== undefined) return this.#ended(batch, await batchResult(stored, tools));
    const now = withStarts(batch, stored);
    if (stored.state === 'running' && stops(now)) outbox.batch({ ...call, state: 'stopping' });
    const parallel = this.#parallel(effect);
    if (parallel !== stored.parallel) outbox.batch({ ...call, parallel });
    const plan = planOf(now, { parallel, isSuspended: batch.wasSuspended, isAborted: effect.abort });
    if (plan.kind === 'begin') return await this.#beginItems(batch, now, plan.items);
    const at = tools.clock.now();
    if (plan.kind === 'undecided' && stored.undecidedAt === undefined) outbox.batch({ ...call, undecidedAt: at });
    if (plan.kind !== 'ends') return undefined;
    outbox.batch({ ...call, state: plan.state, endedAt: at });
    return this.#ended(batch, await batchResult({ ...now, state: plan.state }, tools));
  }

  async #beginItems(batch: OpenBatch, { lastItem, digest }: StoredBatch, limit: number): Promise<RunEvent | undefined> {
    const { run, tools, outbox, children } = this.#needs;
    const { effect } = batch;
    const call = this.#callOf(batch);
    const document = digest === undefined ? await documentFor(run, effect, tools) : { version: effect.version, digest };
    const starts: { readonly index: number; readonly child: string }[] = [];
    for (const { index, value } of await tools.items(call, { limit, after: lastItem, status: 'notStarted' })) {
      const made = childRun(run, { ...effect, index, input: `{"item":${value},"index":${index}}` }, document);
      if ('problem' in made) return this.#failed(batch, standardError('configuration', cannotRun, made.problem));
      children.begin(made.child);
      starts.push({ index, child: made.child.id });
    }
    outbox.batch({ ...call, starts });
    batch.starts = [...batch.starts, ...starts.map(({ index }) => index)];
    return undefined;
  }

  /** At most as many as the person has places here. */
  #parallel({ parallel }: BatchEffect): number {
    return Math.min(parallel, this.#needs.tools.placesOfPerson);
  }

  #failed({ effect: { key } }: OpenBatch, error: EffectError): RunEvent {
    return { kind: 'failed', at: this.#needs.tools.clock.now(), key, error };
  }

  #ended(batch: OpenBatch, result: OutsideResult): RunEvent {
    batch.hasEnded = true;
    return { kind: 'childEnded', at: this.#needs.tools.clock.now(), key: batch.effect.key, result };
  }
}

const cannotRun = 'The workflow cannot be run';
const lostItems = standardError('runtime', 'The items are lost', 'The store no longer has the items of the batch.');

function openBatch(effect: BatchEffect, isInherited: boolean): OpenBatch {
  return { effect, isInherited, isBegun: false, looks: true, wasSuspended: false, starts: [], hasEnded: false };
}

/** The batch with the items that begin with the next write. */
function withStarts(batch: OpenBatch, stored: StoredBatch): StoredBatch {
  batch.starts = batch.starts.filter((index) => index > stored.lastItem);
  const { length } = batch.starts;
  const lastItem = Math.max(stored.lastItem, ...batch.starts);
  return { ...stored, lastItem, open: stored.open + length, notStarted: stored.notStarted - length };
}

function whyNot({ item }: ClaimedRun, { workflow, version }: BatchEffect, isThere: boolean): EffectError | undefined {
  if (item !== undefined)
    return standardError(
      'configuration',
      cannotRun,
      'The workflow of a batch may reach no call: batch, and the run is in a batch.',
    );
  if (isThere) return undefined;
  return standardError('configuration', cannotRun, `There is no workflow ${workflow} with the version ${version}.`);
}

/** In a repetition of items: those that the run took of this batch. Undefined: all. */
async function leftItems(
  { repeats }: ClaimedRun,
  batch: Pick<NewBatch, 'reference' | 'run' | 'turn'>,
  { repeatedItems }: Pick<RunTools, 'repeatedItems'>,
): Promise<NewBatch['items'] | undefined> {
  if (repeats === undefined) return undefined;
  return (await repeatedItems(batch)) ?? (repeats.hasRest ? undefined : []);
}

/** The evaluated `with`, as JSON text: what the document says of the batch, and the items that it has. */
function argumentsOf(
  { workflow, version, parallel, canary, stopAfter, failures }: BatchEffect,
  items: readonly { readonly value: string }[],
): string {
  const [namespace, name] = workflow.split('.');
  const rules = JSON.stringify(defined({ workflow: { namespace, name, version }, parallel, canary, stopAfter, failures }));
  return `{"items":[${items.map(({ value }) => value).join(',')}],${rules.slice(1)}`;
}

function itemsOf({ items }: BatchEffect) {
  const spans = items?.spans;
  if (spans === undefined) return [];
  return Array.from({ length: spans.length }, (_item, index) => ({ index, value: spans.text(index) }));
}
