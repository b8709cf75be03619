import type { Automation } from '#automations/automation.ts';
import { mayRun, type RunningOperation } from '#automations/automation-access.ts';
import { type RunReading, seesRun } from './run-access.ts';
import { isRunId } from './run-id.ts';
import type { StoredRunSummary } from './run-queries.ts';
import type { StoredRun } from './run-records.ts';
import { notDecider, notYours, runNotFound } from './run-refusals.ts';
import type { RunCatalogueNeeds, RunRequest } from './run-requests.ts';

/** Runs by their id, for a principal. A run that it may not see is `run-not-found`. */
export interface RunFinder {
  /** By one of the operations. `automation`: undefined where it was deleted. */
  visible(
    request: RunRequest,
    ...operations: readonly (RunReading | RunningOperation)[]
  ): Promise<{ readonly run: StoredRunSummary; readonly automation: Automation | undefined }>;
  /** A run that the principal may change by the operation; otherwise `forbidden`. `run-not-found` where it may not see the run in any way. */
  changeable(
    request: RunRequest,
    operation: RunningOperation,
  ): Promise<{ readonly run: StoredRunSummary; readonly automation: Automation | undefined }>;
  /** A run that the principal may see, with its input and output, and everybody involved up to now. */
  whole(id: string): Promise<StoredRun>;
}

type FinderNeeds = Pick<RunCatalogueNeeds, 'automation' | 'people' | 'rights' | 'store'>;

export function createRunFinder({ store, people, rights, automation: find }: FinderNeeds): RunFinder {
  const visible: RunFinder['visible'] = async ({ principal, id }, ...operations) => {
    const run = isRunId(id) ? await store.summary(id) : undefined;
    const named = run?.automation === undefined ? undefined : await find(run.automation.id);
    const automation = named?.automation;
    const sees = (seen: StoredRunSummary): boolean =>
      operations.some((operation) =>
        seesRun(rights, { principal, operation }, { owner: seen.principal.id, workflow: seen.workflow, automation }),
      );
    if (run === undefined || !sees(run)) throw runNotFound();
    return { run, automation };
  };
  return {
    visible,
    async changeable(request, operation) {
      const { run, automation } = await visible(request, operation, 'readRun', 'listRuns');
      const { principal } = request;
      const asked = { principal, operation, workflow: run.workflow };
      if (!principal.roles.includes('admin') && (automation === undefined || !mayRun(rights, asked, automation)))
        throw operation === 'decideRun' ? notDecider() : notYours();
      return { run, automation };
    },
    async whole(id) {
      const run = await store.read(id);
      if (run === undefined) throw runNotFound();
      return { ...run, involved: await people.involved(run) };
    },
  };
}
