import type { Principal } from '#access/principal.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Database } from '#database/database.ts';
import { mergePatch } from '#json/merge-patch.ts';
import type { Automation, AutomationData } from './automation.ts';
import { maySee, mayWrite, viewerOf } from './automation-access.ts';
import {
  type GivenAutomation,
  generateId,
  inUtc,
  isId,
  modifierName,
  refuseContradictions,
  refuseTooLarge,
} from './automation-document.ts';
import { type ImportResult, importAutomations } from './automation-import.ts';
import { documentText, taggedText } from './automation-row.ts';
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

/**
 * The catalogue for a principal whose role is checked already; the catalogue checks its groups. An automation that the principal may not see
 * is `automation-not-found` (404), one that it may see but not change is `forbidden` (403). A stale `If-Match` is `precondition-failed` (412), a name that another
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
  /** See `importAutomations`; for admins, who see all. */
  import(source: AsyncIterable<Buffer>): Promise<ImportResult>;
  /** See `AutomationStore.export`; for admins. */
  export: AutomationStore['export'];
  /** The automation, for runs, which need no principal. */
  find(id: string): Promise<Automation | undefined>;
  /** See `CatalogueChanges`. */
  onChange: AutomationStore['onChange'];
}

interface AutomationCatalogueOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly whyNotWriter: WhyNotWriter;
}

export function createAutomationCatalogue({ database, clock, whyNotWriter }: AutomationCatalogueOptions): AutomationCatalogue {
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
    async list({ principal, options }) {
      const { list, total } = await store.list({ options, viewer: viewerOf(principal), principal: principal.id });
      return { list, total, skip: options.skip, limit: options.limit };
    },
    async create({ principal, given }) {
      const settled = settle(given);
      await refuseDelegation(whyNotWriter, { principal, next: settled });
      return store.change((writer) => put(writer, stamped(principal, generateId(), settled)));
    },
    async read({ principal, id }) {
      const stored = isId(id) ? await store.read(id) : undefined;
      if (stored === undefined || !maySee(principal, stored.automation)) throw notFound();
      return stateOf(stored.automation);
    },
    replace: (request) =>
      changeOne(store, request, async (writer, { automation: current }) => {
        const settled = settle(request.given, { current });
        await refuseDelegation(whyNotWriter, { principal: request.principal, current, next: settled });
        return put(writer, changed(request, current, settled));
      }),
    patch: (request) =>
      changeOne(store, request, async (writer, { automation: current, givenNext }) => {
        const { patch, principal } = request;
        const settled = settle(mergePatch(current, patch) as Automation, { current, patch });
        await refuseDelegation(whyNotWriter, { principal, current, next: settled });
        const keepsNext = patchOfNextRun(patch) === 'kept' && settled.nextRunAt === current.nextRunAt;
        return put(writer, changed(request, current, settled), keepsNext ? givenNext : undefined);
      }),
    remove: (request) => changeOne(store, request, async (_writer, { automation }) => stateOf(automation)),
    import: (source) => store.importing(() => importAutomations({ store, source })),
    export: () => store.export(),
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
  store: AutomationStore,
  { principal, id, preconditions }: AutomationChange,
  work: (writer: AutomationWriter, current: StoredAutomation) => Promise<T>,
): Promise<T> {
  if (!isId(id)) throw notFound();
  return store.change(async (writer) => {
    const stored = await writer.read(id);
    if (stored === undefined || !maySee(principal, stored.automation)) throw notFound();
    if (!mayWrite(principal, stored.automation)) throw notWritable();
    requireMatch(preconditions, entityTag(taggedText(stored.automation)));
    await writer.remove([id]);
    return work(writer, stored);
  });
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
    'Changing this automation needs the role admin, or the role engineering and membership of one of its gbac.write groups.',
  );
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
