import type { Role } from '#access/principal.ts';
import type { Automation } from '#automations/automation.ts';
import { mayRead, mayRun, namedWorkflow, seesByRole } from '#automations/automation-access.ts';
import { isId } from '#automations/automation-document.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { uuidVersion7 } from '#base/uuid.ts';
import type { Workflow } from '#workflows/workflow.ts';
import { runOf } from './new-run.ts';
import type { RunFinder } from './run-finder.ts';
import { runIdOfKey } from './run-id.ts';
import type { NewRun } from './run-records.ts';
import { invalidInput, keyReused, notYours, withoutAutomation, withoutWorkflow } from './run-refusals.ts';
import type { RunCatalogueNeeds, RunRequest, StartedRun, StartRequest } from './run-requests.ts';

/** See `RunCatalogue`. */
interface RunStarts {
  start(request: StartRequest): Promise<StartedRun>;
  rerun(request: RunRequest & { readonly key?: string | undefined }): Promise<StartedRun>;
}

export function createRunStarts(needs: RunCatalogueNeeds, finder: RunFinder): RunStarts {
  return {
    async start(request) {
      const { automation, input: own } = await runnable(needs, request);
      const input = request.input ?? own ?? '{}';
      const earlier = await earlierRun(needs, request, input);
      if (earlier !== undefined) return earlier;
      const named = automation.data?.workflowId;
      const found = named === undefined ? undefined : await needs.workflow({ id: named });
      if (found === undefined) throw withoutWorkflow(named);
      const problems = await needs.inputProblems({ automation, workflow: found.workflow, input });
      if (problems.length > 0) throw invalidInput(problems);
      return await create({ needs, finder }, newRun(needs, { ...request, ...found, automation, input }));
    },
    async rerun({ key, ...request }) {
      const { principal } = request;
      const { run, automation } = await finder.visible(request, 'rerunRun', 'readRun', 'listRuns');
      if (automation === undefined) throw withoutAutomation();
      if (!mayRun(needs.rights, { principal, operation: 'rerunRun', workflow: run.workflow }, automation)) throw notYours();
      const found = await needs.workflow({ id: run.workflow, version: run.version });
      if (found === undefined) throw withoutWorkflow(`${run.workflow} ${run.version}`);
      const { input } = await finder.whole(run.id);
      return await create({ needs, finder }, newRun(needs, { principal, key, ...found, automation, input }));
    },
  };
}

/** An automation that the principal may run, with its own input. */
async function runnable(
  needs: RunCatalogueNeeds,
  { principal, automation: id }: StartRequest,
): Promise<{ readonly automation: Automation; readonly input: string | undefined }> {
  const found = isId(id) ? await needs.automation(id) : undefined;
  if (found === undefined) throw automationNotFound();
  const { automation } = found;
  const { rights } = needs;
  if (mayRun(rights, { principal, operation: 'runAutomation', workflow: namedWorkflow(automation) }, automation)) return found;
  throw seesByRole(principal, automation) || mayRead(rights, principal, 'readAutomation', automation)
    ? notYours()
    : automationNotFound();
}

/** The run that an earlier request with the key started, although its automation may have changed since. */
async function earlierRun(
  { store }: RunCatalogueNeeds,
  { principal, automation, key }: StartRequest,
  input: string,
): Promise<StartedRun | undefined> {
  const run = key === undefined ? undefined : await store.read(runIdOfKey({ caller: principal.id, automation, key }));
  if (run === undefined) return undefined;
  if (run.input !== input) throw keyReused();
  return { run, replayed: true };
}

interface RunParts extends Pick<StartRequest, 'principal' | 'key'> {
  readonly automation: Automation;
  readonly workflow: Workflow;
  readonly writtenAs: Role;
  readonly input: string;
}

function newRun({ clock }: RunCatalogueNeeds, { key, ...parts }: RunParts): NewRun {
  const { principal, automation } = parts;
  const id =
    key === undefined ? uuidVersion7(clock.now()) : runIdOfKey({ caller: principal.id, automation: automation._id, key });
  return runOf({ ...parts, id, startedBy: { principal: principal.username } });
}

/** Of several requests with one key at the same time the first one creates the run. */
async function create(
  { needs: { store }, finder }: { readonly needs: RunCatalogueNeeds; readonly finder: RunFinder },
  run: NewRun,
): Promise<StartedRun> {
  const [created] = await store.create([run]);
  if (created !== undefined) return { run: created, replayed: false };
  const stored = await finder.whole(run.id);
  if (stored.input !== run.input) throw keyReused();
  return { run: stored, replayed: true };
}

function automationNotFound(): GatewayError {
  return new GatewayError('automation-not-found', 'There is no automation with this _id, or none that you may see.');
}
