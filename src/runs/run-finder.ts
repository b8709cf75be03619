import type { Automation } from '#automations/automation.ts';
import { mayRun } from '#automations/automation-access.ts';
import { seesRun } from './run-access.ts';
import { isRunId } from './run-id.ts';
import type { StoredRunSummary } from './run-queries.ts';
import type { StoredRun } from './run-records.ts';
import { notYours, runNotFound } from './run-refusals.ts';
import type { RunCatalogueNeeds, RunRequest } from './run-requests.ts';

/** Runs by their id, for a principal. A run that it may not see is `run-not-found`. */
export interface RunFinder {
  /** `automation`: undefined where it was deleted. */
  visible(request: RunRequest): Promise<{ readonly run: StoredRunSummary; readonly automation: Automation | undefined }>;
  /** A run that the principal may change; otherwise `forbidden`. */
  changeable(request: RunRequest): Promise<StoredRunSummary>;
  /** A run that the principal may see, with its input and output, and everybody involved up to now. */
  whole(id: string): Promise<StoredRun>;
}

export function createRunFinder({
  store,
  people,
  automation: find,
}: Pick<RunCatalogueNeeds, 'store' | 'people' | 'automation'>): RunFinder {
  const visible: RunFinder['visible'] = async ({ principal, id }) => {
    const run = isRunId(id) ? await store.summary(id) : undefined;
    const found = run?.automation === undefined ? undefined : await find(run.automation.id);
    const automation = found?.automation;
    if (run === undefined || !seesRun(principal, { owner: run.principal.id, automation })) throw runNotFound();
    return { run, automation };
  };
  return {
    visible,
    async changeable(request) {
      const { run, automation } = await visible(request);
      const { principal } = request;
      if (!principal.roles.includes('admin') && (automation === undefined || !mayRun(principal, automation))) throw notYours();
      return run;
    },
    async whole(id) {
      const run = await store.read(id);
      if (run === undefined) throw runNotFound();
      return { ...run, involved: await people.involved(run) };
    },
  };
}
