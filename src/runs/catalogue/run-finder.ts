import type { Automation } from '#automations/automation.ts';
import { mayRun, type RunningOperation } from '#automations/automation-access.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { refuseNewerRow } from '#database/row-version.ts';
import type { StoredRunSummary } from '../journal/run-queries.ts';
import { shownRun } from '../task-data/data-mask.ts';
import { type RunReading, seesRun } from './run-access.ts';
import { isRunId, type RunCatalogueNeeds, type RunRequest, type WholeRun } from './run-requests.ts';

/** `automation`: undefined where it was deleted. */
type FoundRun = { readonly run: StoredRunSummary; readonly automation: Automation | undefined };

/** Runs by their id, for a principal. A run that it may not see is `run-not-found`. */
export interface RunFinder {
  visible(request: RunRequest, ...operations: readonly (RunReading | RunningOperation)[]): Promise<FoundRun>;
  /** A run that the principal may change by the operation; otherwise `forbidden`. */
  changeable(request: RunRequest, operation: RunningOperation): Promise<FoundRun>;
  /** With its input and output, and everybody involved up to now. Whether the principal may see it is decided before. */
  whole(id: string): Promise<WholeRun>;
}

type FinderNeeds = Pick<RunCatalogueNeeds, 'automation' | 'people' | 'rights' | 'store'>;

export function createRunFinder({ store, people, rights, automation: find }: FinderNeeds): RunFinder {
  const visible: RunFinder['visible'] = async ({ principal, id }, ...operations) => {
    const run = isRunId(id) ? await store.summary(id) : undefined;
    const named = run?.automation && (await find(run.automation.id));
    const automation = named?.automation;
    if (run === undefined) throw runNotFound();
    const seen = { owner: run.principal.id, workflow: run.workflow, automation };
    if (!operations.some((operation) => seesRun(rights, { principal, operation }, seen))) throw runNotFound();
    return { run, automation };
  };
  return {
    visible,
    async changeable(request, operation) {
      const { run, automation } = await visible(request, operation, 'readRun', 'listRuns');
      const { principal } = request;
      const may =
        principal.roles.includes('admin') ||
        (automation !== undefined && mayRun(rights, { principal, operation, workflow: run.workflow }, automation));
      if (may) {
        refuseNewerRow('The run', run.lowest);
        return { run, automation };
      }
      throw operation === 'decideRun'
        ? new GatewayError('forbidden', 'A decision about a call needs the role admin, or a right to decide (decideRun).')
        : notYours();
    },
    async whole(id) {
      const run = await store.read(id);
      if (run === undefined) throw runNotFound();
      const shows = shownRun(run, (other) => store.read(other));
      const [involved, sums, shown] = await Promise.all([people.involved(run), store.sumsOfItems([id]), shows]);
      return { ...run, involved, items: sums.get(id), shown };
    },
  };
}

/** What the state of the run does not allow. `detail`: a sentence. */
export function runConflict(detail: string): GatewayError {
  return new GatewayError('run-conflict', detail);
}

export function runNotFound(): GatewayError {
  return new GatewayError('run-not-found', 'There is no run with this id, or none that you may see.');
}

export function notYours(): GatewayError {
  return new GatewayError(
    'forbidden',
    'Running this automation needs the role admin, membership of one of its gbac.write groups, or the role engineering or a right to it where it has no such groups.',
  );
}
