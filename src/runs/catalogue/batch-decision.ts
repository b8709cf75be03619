import type { Principal } from '#access/principal.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { refuseNewerRow } from '#database/row-version.ts';
import { maxItems } from '#workflows/workflow.ts';
import type { ItemStatus, StoredBatch, StoredItem } from '../journal/batches/batch-records.ts';
import type { StoredRunSummary } from '../journal/run-queries.ts';
import { type RunFinder, runConflict, runNotFound } from './run-finder.ts';
import type { IntendDecision, RunCatalogueNeeds, RunDecision, RunRequest, WholeRun } from './run-requests.ts';
import { decisionAbout, undecidedOf, untilSeen } from './run-steering.ts';

/** One decision about the undecided calls of several items of a batch. */
interface ItemsDecision extends Omit<RunDecision, 'task'> {
  readonly items: readonly number[] | 'unknown';
  /** The id of the task of the batch, or its reference; undefined: the run has one such batch. */
  readonly task: string | undefined;
  /** With `unknown`: how many they are. */
  readonly expected: number | undefined;
}

const unknown = 'unknown' satisfies ItemStatus;
/** Items whose calls are looked for at the same time. */
const atOnce = 16;
/** Records that are written at the same time. */
const recordsAtOnce = 250;

/** Decides about items of a batch: all that the decision names, or none. */
export function createBatchDecisions(needs: RunCatalogueNeeds, finder: RunFinder) {
  return {
    /** The right to decide must hold for each run that has one of the calls. */
    async decideItems({
      decision,
      intend,
      ...request
    }: RunRequest & { readonly decision: ItemsDecision; readonly intend: IntendDecision }): Promise<WholeRun> {
      const { principal } = request;
      const { run } = await finder.changeable(request, 'decideRun');
      const batch = chosenBatch(await needs.store.batches(run.id), decision.task);
      const items = namedItems(await needs.store.items(batch, { limit: maxItems, after: -1, status: unknown }), decision);
      const calls = await callsIn(items, needs);
      await requireRights(principal, calls, finder);
      const decided = calls.flatMap(({ run: { id }, undecided }) =>
        undecided.map((call) => ({
          run: id,
          ...decisionAbout(call, decision, { principal, ofSeveral: undecided.length > 1 }),
        })),
      );
      await intend(run);
      const records = calls.map((call) => recordOf(call, { principal, batch, decision }));
      await withRecords(records, needs, async () => {
        if (await needs.store.commandAll(decided)) return;
        throw runConflict(
          'Somebody decided about one of these calls a moment ago, so this decision about all of them does not count.',
        );
      });
      const runs = [...new Set(decided.map((one) => one.run))];
      await untilSeen(needs, [run.id, ...runs], async () => {
        const now = await needs.store.batchOfTask(batch.run, batch.activity);
        return now === undefined || now.unknown <= batch.unknown - items.length;
      });
      return await finder.whole(run.id);
    },
  };
}

type DecisionRecord = Parameters<RunCatalogueNeeds['intendDecision']>[0];

/** Each decision is on record before they count, and each record says whether they do. */
async function withRecords(
  records: readonly DecisionRecord[],
  { intendDecision }: Pick<RunCatalogueNeeds, 'intendDecision'>,
  decide: () => Promise<void>,
): Promise<void> {
  const intended: Awaited<ReturnType<typeof intendDecision>>[] = [];
  const end = async (outcome: Pick<DecisionRecord, 'code' | 'outcome'>): Promise<void> => {
    await Promise.all(intended.map((one) => one.outcome({ event: 'decided', ...outcome })));
  };
  let mayCount = false;
  try {
    // Calls of others are written between these parts.
    for (let first = 0; first < records.length; first += recordsAtOnce) {
      const written = await Promise.allSettled(records.slice(first, first + recordsAtOnce).map(intendDecision));
      intended.push(...written.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])));
      const failed = written.find((one) => one.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
    }
    mayCount = true;
    await decide();
  } catch (error) {
    const isKnown = !mayCount || (error instanceof GatewayError && error.code === 'run-conflict');
    await end({ outcome: isKnown ? 'refused' : 'unknown', ...(error instanceof GatewayError && { code: error.code }) });
    throw error;
  }
  await end({ outcome: 'ok' });
}

/** The batch that the decision names, of those with undecided items. */
function chosenBatch(batches: readonly StoredBatch[], task: string | undefined): StoredBatch {
  const undecided = batches.filter((batch) => batch.unknown > 0);
  const named = undecided.filter(
    ({ activity, reference }) => task === undefined || task === String(activity) || task === reference,
  );
  const [batch] = named;
  if (batch !== undefined && named.length === 1) return batch;
  const ids = (some: readonly StoredBatch[]): string =>
    some.map(({ activity, reference }) => `${activity} (${reference})`).join(', ');
  if (named.length > 1)
    throw runConflict(`Several batches of the run have undecided items: name one of these by task: ${ids(named)}.`);
  const hint = undecided.length === 0 ? 'no batch of the run has one' : `these batches have some: ${ids(undecided)}`;
  throw runConflict(`There is no item here that people have to decide about; ${hint}.`);
}

/** How many indices a sentence lists. */
const listed = 20;

function namedItems(undecided: readonly StoredItem[], { items, expected }: ItemsDecision): readonly StoredItem[] {
  if (items === 'unknown') {
    if (expected === undecided.length) return undecided;
    const given = expected === undefined ? 'how many is not given' : `${expected} are expected`;
    throw runConflict(
      `People have to decide about ${undecided.length} items, and ${given}: look at them, and send expected with their number.`,
    );
  }
  const byIndex = new Map(undecided.map((item) => [item.index, item]));
  const others = items.filter((index) => !byIndex.has(index));
  if (others.length > 0)
    throw runConflict(
      `The items ${textOf(others)} are not undecided, or were decided already; these are: ${textOf([...byIndex.keys()])}.`,
    );
  return [...new Set(items)].flatMap((index) => byIndex.get(index) ?? []);
}

function textOf(indices: readonly number[]): string {
  const some = indices.slice(0, listed).join(', ');
  return indices.length > listed ? `${some} and ${indices.length - listed} more` : some;
}

/** A run of an item, or inside of one, with its calls that people have to decide about. */
interface UndecidedRun {
  readonly index: number;
  readonly run: StoredRunSummary;
  readonly undecided: Awaited<ReturnType<typeof undecidedOf>>;
}

async function callsIn(items: readonly StoredItem[], needs: RunCatalogueNeeds): Promise<readonly UndecidedRun[]> {
  const calls: UndecidedRun[] = [];
  for (let first = 0; first < items.length; first += atOnce) {
    const some = items.slice(first, first + atOnce);
    const found = await Promise.all(
      some.map(async ({ index, run }) => {
        const inside = run === undefined ? [] : await undecidedIn(run, needs);
        if (inside.length === 0) throw runConflict(`The item ${index} was decided a moment ago; look again.`);
        return inside.map((one) => ({ index, ...one }));
      }),
    );
    calls.push(...found.flat());
  }
  return calls;
}

/** Of the run, and of those that it began. */
async function undecidedIn(id: string, needs: RunCatalogueNeeds): Promise<readonly Omit<UndecidedRun, 'index'>[]> {
  const run = await needs.store.summary(id);
  if (run === undefined) throw runNotFound();
  refuseNewerRow('A run of these items', run.lowest);
  const own = await undecidedOf(needs, run);
  const inside = await Promise.all((await needs.store.children(id)).map((child) => undecidedIn(child, needs)));
  return [...(own.length > 0 ? [{ run, undecided: own }] : []), ...inside.flat()];
}

/** Rights to decide may be for some workflows alone. All runs of a batch are of one automation. */
async function requireRights(principal: Principal, calls: readonly UndecidedRun[], finder: RunFinder): Promise<void> {
  const byWorkflow = new Map(calls.map(({ run }) => [run.workflow, run.id]));
  for (const id of byWorkflow.values()) await finder.changeable({ principal, id }, 'decideRun');
}

function recordOf(
  { index, run: { id, automation } }: UndecidedRun,
  {
    principal,
    batch,
    decision,
  }: { readonly principal: Principal; readonly batch: StoredBatch; readonly decision: ItemsDecision },
): DecisionRecord {
  return {
    event: 'decided',
    principal: principal.username,
    run: id,
    ...(automation && { automation: { _id: automation.id, name: automation.name } }),
    reason: decision.reason,
    detail: `The item ${index} of the batch ${batch.reference} of the run ${batch.run} was decided: ${decision.as}.`,
  };
}
