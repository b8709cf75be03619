import type { InvolvedPrincipal } from '#access/people.ts';
import { mayRead, mayRun, namedWorkflow, seesByRole } from '#automations/automation-access.ts';
import { isId } from '#automations/automation-document.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { uuidVersion7 } from '#base/uuid.ts';
import { pinnedVersion, runOf } from './new-run.ts';
import type { RunFinder } from './run-finder.ts';
import { runIdOfKey } from './run-id.ts';
import type { StoredRunSummary } from './run-queries.ts';
import type { NewRun } from './run-records.ts';
import {
  delegationLost,
  hasParent,
  invalidInput,
  keyReused,
  notYours,
  otherWorkflow,
  superseded,
  versionNotYours,
  withoutAutomation,
  withoutWorkflow,
} from './run-refusals.ts';
import type { FoundAutomation, RerunRequest, RunCatalogueNeeds, StartedRun, StartRequest } from './run-requests.ts';

/** See `RunCatalogue`. */
interface RunStarts {
  start(request: StartRequest): Promise<StartedRun>;
  rerun(request: RerunRequest): Promise<StartedRun>;
}

interface Starting {
  readonly needs: RunCatalogueNeeds;
  readonly finder: RunFinder;
}

export function createRunStarts(needs: RunCatalogueNeeds, finder: RunFinder): RunStarts {
  const starting = { needs, finder };
  return {
    async start(request) {
      const found = await runnable(needs, request);
      const input = request.input ?? found.input ?? '{}';
      const earlier = await earlierRun(needs, request, input);
      if (earlier !== undefined) return earlier;
      const workflow = found.automation.data?.workflowId;
      if (workflow === undefined) throw withoutWorkflow(workflow);
      if (request.version !== undefined) await refuseVersion(needs, request, workflow);
      const version = request.version ?? pinnedVersion(found.automation);
      return await begun({ ...request, found, workflow, version, input }, starting);
    },
    async rerun({ key, version, input, ...request }) {
      const { principal } = request;
      const { run, automation } = await finder.visible(request, 'rerunRun', 'readRun', 'listRuns');
      const found = automation && (await needs.automation(automation._id));
      if (found === undefined) throw withoutAutomation();
      const asked = { principal, operation: 'rerunRun', workflow: run.workflow } as const;
      if (!mayRun(needs.rights, asked, found.automation)) throw notYours();
      if (run.parent !== undefined) throw hasParent(run.parent.run);
      if (found.automation.data?.workflowId !== run.workflow) throw otherWorkflow(run.workflow);
      if (version !== undefined) await refuseVersion(needs, request, run.workflow);
      else await refuseSuperseded(needs, { principal, run, found });
      const parts = { principal, key, found, workflow: run.workflow, version: version ?? run.version };
      const whole = await finder.whole(run.id);
      return await begun({ ...parts, input: input ?? whole.input, repeated: whole.involved }, starting);
    },
  };
}

/** An automation that the principal may run. */
async function runnable(needs: RunCatalogueNeeds, { principal, automation: id }: StartRequest): Promise<FoundAutomation> {
  const found = isId(id) ? await needs.automation(id) : undefined;
  if (found === undefined) throw automationNotFound();
  const { automation } = found;
  const { rights } = needs;
  if (mayRun(rights, { principal, operation: 'runAutomation', workflow: namedWorkflow(automation) }, automation)) return found;
  throw seesByRole(principal, automation) || mayRead(rights, principal, 'readAutomation', automation)
    ? notYours()
    : automationNotFound();
}

/** Only the writers of a workflow choose a version of it: an older one may lack an approval that a newer one asks for. */
async function refuseVersion(
  { whyNotWriter }: RunCatalogueNeeds,
  { principal }: Pick<StartRequest, 'principal'>,
  workflow: string,
): Promise<void> {
  const reason = await whyNotWriter(principal, workflow);
  if (reason !== undefined) throw versionNotYours(workflow, reason);
}

/** A repetition takes the bytes of the run before, where a new run would take them too. */
async function refuseSuperseded(
  needs: RunCatalogueNeeds,
  {
    principal,
    run,
    found,
  }: { readonly principal: StartRequest['principal']; readonly run: StoredRunSummary; readonly found: FoundAutomation },
): Promise<void> {
  const [newest] = (await needs.reached({ id: run.workflow, version: pinnedVersion(found.automation) })) ?? [];
  const { version, digest } = newest?.pin ?? {};
  const isSame = version === run.version && (run.workflowDigest === undefined || run.workflowDigest === digest);
  if (isSame || (await needs.whyNotWriter(principal, run.workflow)) === undefined) return;
  throw superseded(run, version);
}

/** The run that an earlier request with the key started, although its automation may have changed since. */
async function earlierRun(
  { store }: RunCatalogueNeeds,
  { principal, automation, key, version }: StartRequest,
  input: string,
): Promise<StartedRun | undefined> {
  const run = key === undefined ? undefined : await store.read(runIdOfKey({ caller: principal.id, automation, key }));
  if (run === undefined) return undefined;
  if (run.input !== input || run.version !== (version ?? run.version)) throw keyReused();
  return { run, replayed: true };
}

interface RunParts extends Pick<StartRequest, 'principal' | 'key' | 'version'> {
  readonly found: FoundAutomation;
  readonly workflow: string;
  readonly input: string;
  readonly repeated?: readonly InvolvedPrincipal[];
}

/** Judges documents, people and input, and creates the run. */
async function begun({ workflow, version, found, input, ...parts }: RunParts, starting: Starting): Promise<StartedRun> {
  const { needs } = starting;
  const { automation, people } = found;
  const documents = await needs.reached({ id: workflow, version });
  const pin = documents?.[0].pin;
  const loaded = pin && (await needs.workflow(pin));
  if (documents === undefined || loaded === undefined) throw withoutWorkflow(workflow, version);
  const { principal, key, repeated = [] } = parts;
  const problems = await needs.inputProblems({ automation, workflow: loaded.workflow, input, person: principal.id });
  if (problems.length > 0) throw invalidInput(problems);
  const lost = await needs.people.whyLost(documents, people.authors);
  if (lost !== undefined) throw delegationLost(lost.detail);
  await needs.quota.require(principal);
  const id =
    key === undefined ? uuidVersion7(needs.clock.now()) : runIdOfKey({ caller: principal.id, automation: automation._id, key });
  const startedBy = { principal: principal.username };
  return await create(starting, runOf({ id, principal, startedBy, automation, people, documents, input, repeated }));
}

/** Of several requests with one key at the same time the first one creates the run. */
async function create({ needs: { store }, finder }: Starting, run: NewRun): Promise<StartedRun> {
  const [created] = await store.create([run]);
  if (created !== undefined) return { run: created, replayed: false };
  const stored = await finder.whole(run.id);
  if (stored.input !== run.input) throw keyReused();
  return { run: stored, replayed: true };
}

function automationNotFound(): GatewayError {
  return new GatewayError('automation-not-found', 'There is no automation with this _id, or none that you may see.');
}
