import type { Principal } from '#access/principal.ts';
import type { Rights } from '#access/rights.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Database } from '#database/database.ts';
import { mergePatch } from '#json/merge-patch.ts';
import type { Automation, AutomationData } from './automation.ts';
import { mayEdit, mayRead, maySee, viewerOf } from './automation-access.ts';
import {
  type GivenAutomation,
  generateId,
  inUtc,
  isId,
  modifierName,
  refuseContradictions,
  refuseTooLarge,
} from './automation-document.ts';
import { type ImportedLine, type ImportResult, importAutomations } from './automation-import.ts';
import { documentText, parseDocument, taggedText } from './automation-row.ts';
import { type AutomationStore, type AutomationWriter, createAutomationStore, type StoredAutomation } from './automation-store.ts';
import { refuseDelegation, type WhyNotWriter } from './delegation.ts';
import { entityTag, type Preconditions, requireMatch } from './entity-tag.ts';
import type { ListOptions } from './list-options.ts';
import { runFields, withFactsOf } from './run-facts.ts';
import { patchOfNextRun, withSettledSchedule } from './settled-schedule.ts';

/** One page of a listing, with the values in effect. */
export interface AutomationListing {
  /** The documents as JSON texts. */
  readonly list: readonly string[];
  readonly total: number;
  readonly skip: number;
  readonly limit: number;
}

/** A document as its reader or writer gets it. */
export interface AutomationState {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly text: string;
  /** Entity tag, in its quotes: of the document without its run facts. */
  readonly tag: string;
}

interface AutomationRequest {
  readonly principal: Principal;
  readonly id: string;
}

interface AutomationChange extends AutomationRequest {
  readonly preconditions: Preconditions;
}

type Change = Parameters<typeof mayEdit>[2];

/**
 * The catalogue for a principal that may use the operation for some automation. The catalogue judges the one that is asked about: by groups, and by
 * the workflows that rights cover, before and after a change. An automation that the principal may not see is `automation-not-found` (404), one that it may see but not change is `forbidden` (403). A stale `If-Match` is `precondition-failed` (412), a name that another
 * automation has `automation-exists` (409), a document over 1 MiB `body-too-large` (413). Every operation rejects with
 * `store-unavailable` (503) where the store does. Changes can be refused by `refuseDelegation` too.
 */
export interface AutomationCatalogue {
  list(request: { readonly principal: Principal; readonly options: ListOptions }): Promise<AutomationListing>;
  create(request: { readonly principal: Principal; readonly given: GivenAutomation }): Promise<AutomationState>;
  read(request: AutomationRequest): Promise<AutomationState>;
  replace(request: AutomationChange & { readonly given: GivenAutomation }): Promise<AutomationState>;
  /** `patch` by RFC 7396; it has been validated by `automationPatchSchema` and `contentProblems`. */
  patch(request: AutomationChange & { readonly patch: unknown }): Promise<AutomationState>;
  /** Resolves with the automation as it was. */
  remove(request: AutomationChange): Promise<AutomationState>;
  /** See `importAutomations`. Each line is judged like a single change; `forbidden` (403) names the lines that the principal may not store. */
  import(request: { readonly principal: Principal; readonly source: AsyncIterable<Buffer> }): Promise<ImportResult>;
  /** See `AutomationStore.export`; without what the principal may not see. */
  export(principal: Principal): ReturnType<AutomationStore['export']>;
  /** The automation, for runs, which need no principal. */
  find(id: string): Promise<Automation | undefined>;
  /** See `CatalogueChanges`. */
  onChange: AutomationStore['onChange'];
}

interface AutomationCatalogueOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly rights: Rights;
  readonly whyNotWriter: WhyNotWriter;
}

export function createAutomationCatalogue(options: AutomationCatalogueOptions): AutomationCatalogue {
  const { database, clock, rights } = options;
  const store = createAutomationStore(database);
  const stamped = (principal: Principal, id: string, settled: GivenAutomation): Automation => {
    const lastUpdated = new Date(clock.now()).toISOString();
    const automation = { ...settled, _id: id, lastModifiedBy: modifierName(principal.username) };
    return { ...automation, data: { ...automation.data, lastUpdated } };
  };
  const settle = (given: GivenAutomation, before?: { readonly current: Automation; readonly patch?: unknown }) => {
    refuseContradictions(given);
    const patched = before?.patch === undefined ? undefined : patchOfNextRun(before.patch);
    return withSettledSchedule({ current: before?.current, given: inUtc(given), patched, now: clock.now() });
  };
  const changed = ({ principal, id }: AutomationRequest, current: Automation, settled: Settled): Automation => {
    if (!changesOnlyRunFacts(current, settled)) return stamped(principal, id, settled);
    return withFactsOf(withAnchor(current, settled.data?.scheduleFrom), settled);
  };
  return {
    list: (request) => listShown(request, { store, rights }),
    async create({ principal, given }) {
      const settled = settle(given);
      await refuseNext('createAutomation', { principal, next: settled }, options);
      return store.change((writer) => put(writer, stamped(principal, generateId(), settled)));
    },
    async read({ principal, id }) {
      const stored = isId(id) ? await store.read(id) : undefined;
      if (stored === undefined || !mayRead(rights, principal, 'readAutomation', stored.automation)) throw notFound();
      return stateOf(stored.automation);
    },
    replace: (request) =>
      changeOne({ store, rights, operation: 'replaceAutomation' }, request, async (writer, { automation: current }) => {
        const settled = settle(request.given, { current });
        await refuseNext('replaceAutomation', { principal: request.principal, current, next: settled }, options);
        return put(writer, changed(request, current, settled));
      }),
    patch: (request) =>
      changeOne({ store, rights, operation: 'patchAutomation' }, request, async (writer, { automation: current, givenNext }) => {
        const { patch, principal } = request;
        const settled = settle(mergePatch(current, patch) as Automation, { current, patch });
        await refuseNext('patchAutomation', { principal, current, next: settled }, options);
        const keepsNext = patchOfNextRun(patch) === 'kept' && settled.nextRunAt === current.nextRunAt;
        return put(writer, changed(request, current, settled), keepsNext ? givenNext : undefined);
      }),
    remove: (request) =>
      changeOne({ store, rights, operation: 'deleteAutomation' }, request, async (_writer, { automation }) =>
        stateOf(automation),
      ),
    import({ principal, source }) {
      const judge = principal.roles.includes('admin') ? undefined : (line: ImportedLine) => judgeLine(line, principal, options);
      return store.importing(() => importAutomations({ store, source, judge }));
    },
    export: (principal) => shownOf(store.export(), (each) => mayRead(rights, principal, 'exportAutomations', each)),
    find: async (id) => (isId(id) ? (await store.read(id))?.automation : undefined),
    onChange: (listener) => store.onChange(listener),
  };
}

type Settled = ReturnType<typeof withSettledSchedule>;

function withAnchor({ data, ...rest }: Automation, scheduleFrom: string | undefined): Automation {
  const { scheduleFrom: _, ...others }: AutomationData = data ?? {};
  if (scheduleFrom === undefined) return { ...rest, ...(data && { data: others }) };
  return { ...rest, data: { ...others, scheduleFrom } };
}

/** True where a change has other run facts and no other difference: then `lastModifiedBy`, `data.lastUpdated` and the ETag stay. */
function changesOnlyRunFacts(current: Automation, settled: Settled): boolean {
  if (runFields.every((field) => current[field] === settled[field])) return false;
  const text = ({ data, ...rest }: Settled): string => {
    const { lastUpdated: _last, scheduleFrom: _from, ...owned }: AutomationData = data ?? {};
    return taggedText({ ...rest, _id: current._id, lastModifiedBy: '', data: owned });
  };
  return text(current) === text(settled);
}

/** Removes the automation, where the principal may change it and the preconditions hold; `work` inserts what it becomes. */
async function changeOne<T>(
  { store, rights, operation }: { readonly store: AutomationStore; readonly rights: Rights; readonly operation: Change },
  { principal, id, preconditions }: AutomationChange,
  work: (writer: AutomationWriter, current: StoredAutomation) => Promise<T>,
): Promise<T> {
  if (!isId(id)) throw notFound();
  return store.change(async (writer) => {
    const stored = await writer.read(id);
    if (stored === undefined || !maySee(rights, principal, operation, stored.automation)) throw notFound();
    if (!mayEdit(rights, principal, operation, stored.automation)) throw notWritable();
    requireMatch(preconditions, entityTag(taggedText(stored.automation)));
    await writer.remove([id]);
    return work(writer, stored);
  });
}

/** One page, without what only the store takes for covered: it compares the ids of workflows in any case of letters. */
async function listShown(
  { principal, options }: { readonly principal: Principal; readonly options: ListOptions },
  { store, rights }: { readonly store: AutomationStore; readonly rights: Rights },
): Promise<AutomationListing> {
  const viewer = viewerOf(rights, principal);
  const { list, total } = await store.list({ options, viewer, principal: principal.id });
  const isShown = (text: string): boolean => mayRead(rights, principal, 'listAutomations', parseDocument(text));
  return { list: viewer.workflows ? list.filter(isShown) : list, total, skip: options.skip, limit: options.limit };
}

type Judges = Pick<AutomationCatalogueOptions, 'rights' | 'whyNotWriter'>;

/** Throws `forbidden` where a right that allows the change does not cover what the automation becomes, and where `refuseDelegation` does. */
async function refuseNext(
  operation: Change,
  delegation: Parameters<typeof refuseDelegation>[1],
  { rights, whyNotWriter }: Judges,
): Promise<void> {
  if (!rights.permits(delegation.principal, operation, delegation.next.data?.workflowId)) throw notCovered();
  await refuseDelegation(whyNotWriter, delegation);
}

/** Throws where the principal may not store the line, as it may not make such a change by itself. */
async function judgeLine({ current, next }: ImportedLine, principal: Principal, { rights, whyNotWriter }: Judges): Promise<void> {
  const operation = current === undefined ? 'createAutomation' : 'replaceAutomation';
  const permits = ({ data }: Automation): boolean =>
    rights.permits(principal, operation, data?.workflowId) && rights.permits(principal, 'importAutomations', data?.workflowId);
  const replaces = (automation: Automation): boolean =>
    permits(automation) && maySee(rights, principal, operation, automation) && mayEdit(rights, principal, operation, automation);
  // One that exists, and that the principal may not see, is answered in the same way.
  if (!permits(next) || (current !== undefined && !replaces(current))) throw notImportable();
  await refuseDelegation(whyNotWriter, { principal, ...(current && { current }), next });
}

async function* shownOf(
  batches: ReturnType<AutomationStore['export']>,
  isShown: (automation: Automation) => boolean,
): ReturnType<AutomationStore['export']> {
  for await (const texts of batches) yield texts.filter((text) => isShown(parseDocument(text)));
}

async function put(writer: AutomationWriter, automation: Automation, givenNext?: string): Promise<AutomationState> {
  refuseTooLarge(automation);
  const [conflict] = await writer.insert([automation], givenNext);
  if (conflict !== undefined) throw nameTaken(automation.name);
  return stateOf(automation);
}

function stateOf(automation: Automation): AutomationState {
  return { id: automation._id, name: automation.name, text: documentText(automation), tag: entityTag(taggedText(automation)) };
}

function notFound(): GatewayError {
  return new GatewayError('automation-not-found', 'There is no automation with this _id, or none that you may see.');
}

function notWritable(): GatewayError {
  return new GatewayError(
    'forbidden',
    'Changing this automation needs the role admin, or the role engineering (or a right that covers its workflow) and membership of one of its gbac.write groups.',
  );
}

function notCovered(): GatewayError {
  return new GatewayError(
    'forbidden',
    'No role and no right of yours covers the workflow of this automation, or one without a workflow.',
  );
}

function notImportable(): GatewayError {
  return new GatewayError('forbidden', 'no role and no right lets you store this automation');
}

function nameTaken(name: string): GatewayError {
  return new GatewayError(
    'automation-exists',
    `Another automation has the name ${JSON.stringify(name)}; names are unique, choose another.`,
    {
      errors: [{ pointer: '/name', detail: 'is the name of another automation' }],
      logged: 'Another automation has this name; names are unique.',
    },
  );
}
