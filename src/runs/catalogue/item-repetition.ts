import { tasksOfBatches } from '#workflows/call-operations.ts';
import type { ReachedWorkflow } from '#workflows/catalogue/workflow-pins.ts';
import type { BatchesLeft, TakenItems } from '../journal/batches/repetition-store.ts';
import type { NewRun, StoredRun } from '../journal/run-records.ts';
import { runConflict } from './run-finder.ts';
import type { RunCatalogueNeeds } from './run-requests.ts';

/** A run that has ended, and what it left of its batches. */
export interface LeftItems {
  readonly from: StoredRun;
  readonly left: BatchesLeft;
}

/** Rejects with `run-conflict` where the run goes on, or one of its items does. */
export async function leftItemsOf(
  from: StoredRun,
  { store, clock, retention }: Pick<RunCatalogueNeeds, 'clock' | 'retention' | 'store'>,
): Promise<LeftItems> {
  if (from.endedAt === undefined)
    throw runConflict(`The run has not ended: it is ${from.status}. Its items are repeated once it has.`);
  // Runs inside it may be deleted before it, and with them what is known of their batches.
  if (from.createdAt < clock.now() - retention)
    throw runConflict(
      'The run is so old that its items may be deleted already (automations.retention). Repeat it without items.',
    );
  const left = await store.batchesLeft(from.id);
  if (left.open > 0) throw runConflict(`Items of the run are coming to their ends (${left.open}); try again in a moment.`);
  return { from, left };
}

interface StartedRepetition {
  /** False: a run with this id exists. */
  readonly isNew: boolean;
  readonly warnings: readonly string[];
}

/**
 * Creates the run, which takes the items. `documents`: all that it reaches. Rejects with `run-conflict` where these have not the batches of the
 * repeated run, or nothing is left to repeat.
 */
export async function repeatItems(
  { from, left }: LeftItems,
  { documents, run }: { readonly documents: readonly ReachedWorkflow[]; readonly run: NewRun },
  { store, workflow: load }: Pick<RunCatalogueNeeds, 'store' | 'workflow'>,
): Promise<StartedRepetition> {
  const { places, others } = await placesIn(documents, load);
  if (places.size === 0) throw runConflict('The workflow has no batch, so it has no items. Repeat the run without items.');
  for (const { workflow, reference } of left.tasks) requireBatch(places, { workflow, reference });
  const isNew = await store.repeat(run, from, (taken) => refuseNothing(taken, from));
  return { isNew, warnings: warningsOf(others, left) };
}

/** The places of batches, with whether several tasks share one, and the tasks of the first document that run again. */
async function placesIn(documents: readonly ReachedWorkflow[], load: RunCatalogueNeeds['workflow']) {
  const places = new Map<string, boolean>();
  let others: readonly string[] | undefined;
  for (const { pin } of documents) {
    const loaded = await load(pin);
    if (loaded === undefined) continue;
    const found = tasksOfBatches(loaded.workflow);
    others ??= found.others;
    for (const { task, isShared } of found.batches) places.set(placeOf(pin.id, task.reference), isShared);
  }
  return { places, others: others ?? [] };
}

function refuseNothing({ items, hasRest, others }: TakenItems, { status }: StoredRun): void {
  if (items > 0 || (hasRest && status !== 'completed')) return;
  const by = others.length === 0 ? '' : ` Others are repeated already, by: ${others.join(', ')}.`;
  throw runConflict(`No item of the run is left that failed, was cancelled or did not start.${by}`);
}

function warningsOf(others: readonly string[], { unknown }: BatchesLeft): readonly string[] {
  return [
    ...(others.length === 0 ? [] : [`These tasks are outside of batches, and run again: ${others.join(', ')}.`]),
    ...(unknown === 0 ? [] : [`People have not decided about ${unknown} of the items: these are not repeated before that.`]),
  ];
}

function placeOf(workflow: string, reference: string): string {
  return JSON.stringify([workflow, reference]);
}

/** Items are found by the place of their task: in another place they would all run again. */
function requireBatch(
  places: ReadonlyMap<string, boolean>,
  { workflow, reference }: { readonly workflow: string; readonly reference: string },
): void {
  const isShared = places.get(placeOf(workflow, reference));
  if (isShared === false) return;
  throw isShared === undefined
    ? runConflict(
        `The workflow ${workflow} has no batch at ${reference} in the version that would run, and this run has items there.`,
      )
    : runConflict(
        `Several tasks of ${workflow} call the function with the batch ${reference}, so the gateway cannot tell their items apart.`,
      );
}
