import { randomBytes } from 'node:crypto';
import type { InvolvedPrincipal } from '#access/people.ts';
import type { Principal } from '#access/principal.ts';
import { mayRead, mayRun, namedWorkflow, seesByRole } from '#automations/automation-access.ts';
import { isId } from '#automations/automation-document.ts';
import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import { uuidVersion7 } from '#base/text/uuid.ts';
import { refuseNewerRow } from '#database/row-version.ts';
import { invalidRequest } from '#json/forms/problem-list.ts';
import { pointerTo } from '#json/json-pointer.ts';
import { maskedMember } from '#json/mask-members.ts';
import { type ReachedWorkflow, refuseNewerDocuments } from '#workflows/catalogue/workflow-pins.ts';
import type { StoredRunSummary } from '../journal/run-queries.ts';
import type { NewRun, StartedBy, StoredRun } from '../journal/run-records.ts';
import { involvedAtStart } from '../people/run-people.ts';
import { shownRun } from '../task-data/data-mask.ts';
import { type LeftItems, leftItemsOf, repeatItems } from './item-repetition.ts';
import { notYours, type RunFinder, runConflict } from './run-finder.ts';
import {
  type FoundAutomation,
  type RerunRequest,
  type RunCatalogueNeeds,
  type RunRequest,
  runIdOfKey,
  type StartedRun,
  type StartRequest,
  type WholeRun,
} from './run-requests.ts';

/** Both also reject with `workflow-not-found` and `delegation-lost` (409), `invalid-request` (400), and `forbidden` for a version. */
export function createRunStarts(needs: RunCatalogueNeeds, finder: RunFinder) {
  return {
    async start(request: StartRequest): Promise<StartedRun> {
      const found = await findRunnable(needs, request);
      const { workflowId: workflow, workflowVersion } = found.automation.data ?? {};
      refuseFarAhead(request.notBefore, needs.clock.now());
      const input = request.input ?? found.input ?? '{}';
      const earlier = await earlierRun(needs, request, input);
      if (earlier !== undefined) return earlier;
      if (workflow === undefined) throw withoutWorkflow(workflow);
      if (request.version !== undefined) await refuseVersion(needs, request.principal, workflow);
      const version = request.version ?? workflowVersion;
      return await startRun({ ...request, found, workflow, version, input }, needs, finder);
    },
    /** A new run of the same automation, which belongs to the principal. Also `run-has-parent` and `version-superseded` (409). */
    async rerun({ key, version, input, items, ...request }: RerunRequest): Promise<StartedRun> {
      const { principal } = request;
      const { run, found } = await findRepeatable(needs, request, finder);
      const { workflow } = run;
      if (version !== undefined) await refuseVersion(needs, principal, workflow);
      else await refuseSuperseded(needs, principal, run, found);
      const whole = await finder.whole(run.id);
      const parts = { principal, key, found, workflow, version: version ?? run.version, input: input ?? whole.input };
      const left = items && (await leftItemsOf(whole, needs));
      return await startRun({ ...parts, repeated: whole.involved, left }, needs, finder);
    },
  };
}

async function findRepeatable(
  needs: RunCatalogueNeeds,
  request: RunRequest,
  finder: RunFinder,
): Promise<{ readonly run: StoredRunSummary; readonly found: FoundAutomation }> {
  const { principal } = request;
  const { run, automation } = await finder.visible(request, 'rerunRun', 'readRun', 'listRuns');
  const { workflow, parent } = run;
  const found = automation && (await needs.automation(automation._id));
  if (found === undefined) throw runConflict('The automation of this run does not exist any more.');
  if (!mayRun(needs.rights, { principal, operation: 'rerunRun', workflow }, found.automation)) throw notYours();
  if (parent !== undefined) throw hasParent(parent.run);
  if (found.automation.data?.workflowId !== workflow)
    throw runConflict(`The automation of this run no longer names the workflow ${workflow}.`);
  refuseNewerRow('The run', run.lowest);
  refuseNewerRow('The automation, or its form,', found.lowest);
  return { run, found };
}

async function findRunnable(
  { automation: find, rights }: RunCatalogueNeeds,
  { principal, automation: id }: StartRequest,
): Promise<FoundAutomation> {
  const found = isId(id) ? await find(id) : undefined;
  if (found !== undefined) {
    const { automation } = found;
    const asked = { principal, operation: 'runAutomation', workflow: namedWorkflow(automation) } as const;
    if (mayRun(rights, asked, automation)) {
      refuseNewerRow('The automation, or its form,', found.lowest);
      return found;
    }
    if (seesByRole(principal, automation) || mayRead(rights, principal, 'readAutomation', automation)) throw notYours();
  }
  throw new GatewayError('automation-not-found', 'There is no automation with this _id, or none that you may see.');
}

function withoutWorkflow(named: string | undefined, version?: string): GatewayError {
  const release = version === undefined ? 'has no release' : `has no version ${version}`;
  const detail =
    named === undefined
      ? 'The automation names no workflow: set data.workflowId to the id of one.'
      : `The workflow ${JSON.stringify(named)} does not exist, or ${release}: store it, or name another one in data.workflowId.`;
  return new GatewayError('workflow-not-found', detail, { status: 409 });
}

function hasParent(parent: string): GatewayError {
  return new GatewayError(
    'run-has-parent',
    `A task of the run ${parent} began this run, and what comes before the task belongs to it; repeat the outermost run.`,
  );
}

/** Milliseconds. */
const maxAhead = 7 * 86_400_000;

function refuseFarAhead(notBefore: number | undefined, now: number): void {
  if (notBefore !== undefined && notBefore > now + maxAhead)
    throw invalidRequest([{ pointer: '/notBefore', detail: 'is more than 7 days ahead; give an earlier time' }]);
}

/** Only the writers of a workflow choose a version of it: an older one may lack an approval that a newer one asks for. */
async function refuseVersion({ whyNotWriter }: RunCatalogueNeeds, principal: Principal, workflow: string): Promise<void> {
  const reason = await whyNotWriter(principal, workflow);
  if (reason === undefined) return;
  throw new GatewayError(
    'forbidden',
    `Choosing a version needs the right to write the workflow ${JSON.stringify(workflow)}, and writing it ${reason}.`,
  );
}

/** A repetition takes the bytes of the run before, where a new run would take them too. */
async function refuseSuperseded(
  { reached, whyNotWriter }: RunCatalogueNeeds,
  principal: Principal,
  run: StoredRunSummary,
  { automation }: FoundAutomation,
): Promise<void> {
  const [newest] = (await reached({ id: run.workflow, version: automation.data?.workflowVersion })) ?? [];
  const { version, digest } = newest?.pin ?? {};
  const isSame = version === run.version && (run.workflowDigest === undefined || run.workflowDigest === digest);
  if (isSame || (await whyNotWriter(principal, run.workflow)) === undefined) return;
  const other = version === undefined ? 'no version' : `the version ${version}, or other bytes of this one`;
  throw new GatewayError(
    'version-superseded',
    `The run took the version ${run.version}, and a new run would take ${other}. Run the automation, or ask somebody who may write the workflow.`,
  );
}

/** The run that an earlier request with the key started, although its automation may have changed since. */
async function earlierRun(
  needs: RunCatalogueNeeds,
  { principal, automation, key, version, notBefore }: StartRequest,
  input: string,
): Promise<StartedRun | undefined> {
  const { store } = needs;
  const run = key === undefined ? undefined : await store.read(runIdOfKey({ caller: principal.id, automation, key }));
  if (run === undefined) return undefined;
  refuseOther(run, { input, notBefore });
  if (run.version !== (version ?? run.version)) throw keyReused();
  return { run: await withMask(run, needs), replayed: true };
}

/** Two requests with one key ask for the same run. */
function refuseOther(
  stored: StoredRun,
  { input, notBefore, from }: Pick<StartRequest, 'input' | 'notBefore'> & { readonly from?: string | undefined },
): void {
  if (stored.input !== input || stored.notBefore !== notBefore || stored.repeats?.run !== from) throw keyReused();
}

function keyReused(): GatewayError {
  return new GatewayError(
    'idempotency-key-reused',
    'An earlier request had this Idempotency-Key and another input, version or notBefore: send the same again, or another key for another run.',
  );
}

interface RunParts extends Pick<StartRequest, 'principal' | 'key' | 'version' | 'notBefore' | 'entrance'> {
  readonly found: FoundAutomation;
  readonly workflow: string;
  readonly input: string;
  readonly repeated?: readonly InvolvedPrincipal[];
  /** Of a repetition of items. */
  readonly left?: LeftItems | undefined;
}

async function startRun(parts: RunParts, needs: RunCatalogueNeeds, finder: RunFinder): Promise<StartedRun> {
  const { found, input, principal, key, repeated, left, notBefore, entrance } = parts;
  const documents = await judgeStart(parts, needs);
  await needs.quota.require(principal);
  const automation = found.automation._id;
  const id = key === undefined ? uuidVersion7(needs.clock.now()) : runIdOfKey({ caller: principal.id, automation, key });
  const startedBy = { principal: principal.username };
  const run = runOf({ ...found, id, principal, startedBy, documents, input, repeated, notBefore, entrance });
  if (left !== undefined) {
    const { isNew, warnings } = await repeatItems(left, { documents, run }, needs);
    const stored = await finder.whole(id);
    if (!isNew) refuseOther(stored, { input, notBefore, from: left.from.id });
    return { run: stored, replayed: !isNew, warnings };
  }
  // Of several requests with one key at the same time the first one creates the run.
  const [created] = await needs.store.create([run]);
  if (created !== undefined) return { run: await withMask(created, needs), replayed: false };
  const stored = await finder.whole(id);
  refuseOther(stored, { input, notBefore });
  return { run: stored, replayed: true };
}

async function withMask(run: StoredRun, { store }: Pick<RunCatalogueNeeds, 'store'>): Promise<WholeRun> {
  return { ...run, shown: await shownRun(run, (other) => store.read(other)) };
}

/** The documents of the run, whose input and people are good. */
async function judgeStart(
  { workflow, version, found: { automation, people, passwordFields }, input, principal }: RunParts,
  needs: RunCatalogueNeeds,
): Promise<AutomationRun['documents']> {
  const documents = await needs.reached({ id: workflow, version });
  refuseNewerDocuments(documents ?? []);
  const pin = documents?.[0].pin;
  const loaded = pin && (await needs.workflow(pin));
  if (documents === undefined || loaded === undefined) throw withoutWorkflow(workflow, version);
  const problems = await needs.inputProblems({ automation, workflow: loaded.workflow, input, person: principal.id });
  const errors = [...problems, ...maskedPasswords(input, passwordFields)];
  if (errors.length > 0) throw invalidInput(errors);
  const lost = await needs.people.whyLost(documents, people.authors);
  if (lost !== undefined) throw new GatewayError('delegation-lost', lost.detail);
  return documents;
}

/** Who edits the input of an earlier run gets `***` in place of its passwords. They do not go to where the edited input sends them. */
function maskedPasswords(input: string, fields: readonly string[]): readonly RequestProblem[] {
  if (fields.length === 0) return [];
  const given = JSON.parse(input) as Readonly<Record<string, unknown>> | null;
  return fields
    .filter((name) => [given?.[name]].flat().includes(maskedMember))
    .map((name) => ({
      pointer: pointerTo('', name),
      detail: 'is what the gateway shows in place of a password; give the password again',
    }));
}

function invalidInput(errors: readonly RequestProblem[]): GatewayError {
  const detail = 'The input does not satisfy the form of the automation, or the schema of its workflow.';
  return new GatewayError('invalid-request', detail, { errors });
}

export interface AutomationRun extends Omit<FoundAutomation, 'input' | 'lowest'> {
  readonly id: string;
  readonly principal: Principal;
  readonly startedBy: StartedBy;
  /** The document that it runs, and all that it reaches. */
  readonly documents: readonly [ReachedWorkflow, ...ReachedWorkflow[]];
  /** JSON text. */
  readonly input: string;
  /** Of a repetition: who was involved in the run before. */
  readonly repeated?: readonly InvolvedPrincipal[] | undefined;
  readonly notBefore?: number | undefined;
  /** See `NewRun`. */
  readonly entrance?: 'mcp' | undefined;
}

export function runOf(run: AutomationRun): NewRun {
  const {
    id,
    principal,
    startedBy,
    automation,
    people,
    passwordFields,
    documents,
    input,
    repeated = [],
    notBefore,
    entrance,
  } = run;
  const pins = documents.map(({ pin }) => pin);
  const [{ pin }] = documents;
  return {
    id,
    automation: { id: automation._id, name: automation.name },
    workflow: pin.id,
    version: pin.version,
    input,
    seed: randomBytes(16).toString('base64url'),
    principal,
    workflowDigest: pin.digest,
    pins,
    above: [],
    authors: people.authors.map(({ id: author, username }) => ({ id: author, username })),
    ...(people.owner !== undefined && { owner: people.owner }),
    involved: involvedAtStart({ principal, startedBy, people, pins, repeated }),
    startedBy,
    parent: undefined,
    notBefore,
    entrance,
    ...(passwordFields.length > 0 && { passwordFields }),
  };
}
