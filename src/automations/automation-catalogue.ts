import type { Principal } from '#access/principal.ts';
import type { Rights } from '#access/rights.ts';
import type { Clock } from '#base/clock.ts';
import type { Database } from '#database/database.ts';
import { mergePatch } from '#json/merge-patch.ts';
import type { Automation } from './automation.ts';
import { mayEdit, mayPatch, mayRead, mayRun, maySee, namedWorkflow, permitsChange, viewerOf } from './automation-access.ts';
import { type GivenAutomation, generateId, inUtc, isId, refuseContradictions } from './automation-document.ts';
import { type ImportedLine, type ImportResult, importAutomations } from './automation-import.ts';
import { parseDocument, taggedText } from './automation-row.ts';
import { type AutomationStore, type AutomationWriter, createAutomationStore, type StoredAutomation } from './automation-store.ts';
import { type AutomationState, createSteering, createTaking, createWriting, stateOf } from './automation-writing.ts';
import { notCovered, notFound, notImportable, notRunnable, notWritable } from './catalogue-refusals.ts';
import { type DelegationNeeds, refuseDelegation } from './delegation.ts';
import { entityTag, type Preconditions, requireMatch } from './entity-tag.ts';
import type { ListOptions } from './list-options.ts';
import { patchOfNextRun, withSettledSchedule } from './settled-schedule.ts';
import { steeringOf } from './steered-schedule.ts';

/** One page of a listing, with the values in effect. */
export interface AutomationListing {
  /** The documents as JSON texts. */
  readonly list: readonly string[];
  readonly total: number;
  readonly skip: number;
  /** Where the page is cut because of its bytes: as many as it has. */
  readonly limit: number;
  readonly isCut: boolean;
}

export type { AutomationState };

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
  /**
   * `patch` by RFC 7396; it has been validated by `automationPatchSchema` and `patchProblems`. Who may run the automation may pause and resume
   * it (`steeringOf`), which changes nothing else.
   */
  patch(request: AutomationChange & { readonly patch: unknown }): Promise<AutomationState>;
  /** Resolves with the automation as it was. */
  remove(request: AutomationChange): Promise<AutomationState>;
  /** Makes the principal answer for the automation, which stays as it is. It may write the workflow. */
  take(request: AutomationChange): Promise<AutomationState>;
  /** See `importAutomations`. Each line is judged like a single change; `forbidden` (403) names the lines that the principal may not store. */
  import(request: { readonly principal: Principal; readonly source: AsyncIterable<Buffer> }): Promise<ImportResult>;
  /** See `AutomationStore.export`; without what the principal may not see. */
  export(principal: Principal): ReturnType<AutomationStore['export']>;
  /** The automation and its people, for runs, which need no principal. */
  find(id: string): Promise<Pick<StoredAutomation, 'automation' | 'people'> | undefined>;
  /** See `CatalogueChanges`. */
  onChange: AutomationStore['onChange'];
}

interface AutomationCatalogueOptions extends DelegationNeeds {
  readonly database: Database;
  readonly clock: Clock;
  readonly rights: Rights;
}

export function createAutomationCatalogue(options: AutomationCatalogueOptions): AutomationCatalogue {
  const { database, clock, rights, whyNotWriter, refuseAuthor } = options;
  const store = createAutomationStore(database);
  const settle = createSettling(clock);
  const write = createWriting({ clock, whyNotWriter, refuseAuthor });
  const steer = createSteering({ clock, rights, whyNotWriter });
  const take = createTaking({ whyNotWriter, refuseAuthor });
  return {
    list: (request) => listShown(request, { store, rights }),
    async create({ principal, given }) {
      const settled = settle(given);
      refuseUncovered('createAutomation', { principal, next: settled }, rights);
      return store.change((writer) => write(writer, { principal, id: generateId(), settled }));
    },
    async read({ principal, id }) {
      const stored = isId(id) ? await store.read(id) : undefined;
      if (stored === undefined || !mayRead(rights, principal, 'readAutomation', stored.automation)) throw notFound();
      return stateOf(stored.automation);
    },
    replace: (request) =>
      changeOne(store, { ...request, judge: judgeEditor(rights, 'replaceAutomation') }, async (writer, stored) => {
        const settled = settle(request.given, { current: stored.automation });
        refuseUncovered('replaceAutomation', { principal: request.principal, next: settled }, rights);
        return write(writer, { ...request, settled, stored });
      }),
    async patch(request) {
      const { patch, principal } = request;
      const steering = steeringOf(patch);
      if (steering !== undefined)
        return changeOne(store, { ...request, judge: judgeRunner(rights) }, (writer, stored) =>
          steer(writer, { principal, steering, stored }),
        );
      if (!mayPatch(rights, principal)) throw notWritable();
      return changeOne(store, { ...request, judge: judgeEditor(rights, 'patchAutomation') }, async (writer, stored) => {
        const { automation: current, givenNext } = stored;
        const settled = settle(mergePatch(current, patch) as Automation, { current, patch });
        refuseUncovered('patchAutomation', { principal, next: settled }, rights);
        const keepsNext = patchOfNextRun(patch) === 'kept' && settled.nextRunAt === current.nextRunAt;
        return write(writer, { ...request, settled, stored, ...(keepsNext && { givenNext }) });
      });
    },
    remove: (request) =>
      changeOne(store, { ...request, judge: judgeEditor(rights, 'deleteAutomation') }, async (_writer, { automation }) => {
        await refuseDelegation(options, { principal: request.principal, current: automation });
        return stateOf(automation);
      }),
    take: (request) =>
      changeOne(store, { ...request, judge: judgeEditor(rights, 'takeAutomation') }, (writer, stored) =>
        take(writer, { ...request, stored }),
      ),
    import({ principal, source }) {
      const isFree = principal.roles.includes('admin') && !options.asksAuthors();
      const judge = isFree ? undefined : (line: ImportedLine): Promise<void> => judgeLine(line, principal, options);
      return store.importing(() => importAutomations({ store, source, importer: principal, judge }));
    },
    export: (principal) => shownOf(store.export(), (each) => mayRead(rights, principal, 'exportAutomations', each)),
    find: async (id) => (isId(id) ? await store.read(id) : undefined),
    onChange: (listener) => store.onChange(listener),
  };
}

function createSettling(clock: Clock) {
  return (given: GivenAutomation, before?: { readonly current: Automation; readonly patch?: unknown }) => {
    refuseContradictions(given);
    const patched = before?.patch === undefined ? undefined : patchOfNextRun(before.patch);
    return withSettledSchedule({ current: before?.current, given: inUtc(given), patched, now: clock.now() });
  };
}

/** Throws where the principal may not change the automation. */
type Judge = (principal: Principal, automation: Automation) => void;

function judgeEditor(rights: Rights, operation: Change): Judge {
  return (principal, automation) => {
    if (!maySee(rights, principal, operation, automation)) throw notFound();
    if (!mayEdit(rights, principal, operation, automation)) throw notWritable();
  };
}

function judgeRunner(rights: Rights): Judge {
  return (principal, automation) => {
    const workflow = namedWorkflow(automation);
    if (mayRun(rights, { principal, operation: 'runAutomation', workflow }, automation)) return;
    throw maySee(rights, principal, 'patchAutomation', automation) ? notRunnable() : notFound();
  };
}

/** Removes the automation, where `judge` lets the principal change it and the preconditions hold; `work` inserts what it becomes. */
async function changeOne<T>(
  store: AutomationStore,
  { principal, id, preconditions, judge }: AutomationChange & { readonly judge: Judge },
  work: (writer: AutomationWriter, current: StoredAutomation) => Promise<T>,
): Promise<T> {
  if (!isId(id)) throw notFound();
  return store.change(async (writer) => {
    const stored = await writer.read(id);
    if (stored === undefined) throw notFound();
    judge(principal, stored.automation);
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
  const { list, total, isCut } = await store.list({ options, viewer, principal: principal.id });
  const isShown = (text: string): boolean => mayRead(rights, principal, 'listAutomations', parseDocument(text));
  return {
    list: viewer.workflows ? list.filter(isShown) : list,
    total,
    skip: options.skip,
    limit: isCut ? list.length : options.limit,
    isCut,
  };
}

/** Throws `forbidden` where a right that allows the change does not cover what the automation becomes. */
function refuseUncovered(
  operation: Change,
  { principal, next }: { readonly principal: Principal; readonly next: Pick<Automation, 'data'> },
  rights: Rights,
): void {
  if (!permitsChange(rights, principal, operation, namedWorkflow(next))) throw notCovered();
}

/** Throws where the principal may not store the line, as it may not make such a change by itself. */
async function judgeLine(
  { current, next }: ImportedLine,
  principal: Principal,
  { rights, ...options }: Omit<AutomationCatalogueOptions, 'database' | 'clock'>,
): Promise<void> {
  const operation = current === undefined ? 'createAutomation' : 'replaceAutomation';
  const permits = ({ data }: Automation): boolean =>
    rights.permits(principal, operation, data?.workflowId) && rights.permits(principal, 'importAutomations', data?.workflowId);
  const replaces = (automation: Automation): boolean =>
    permits(automation) && maySee(rights, principal, operation, automation) && mayEdit(rights, principal, operation, automation);
  const isAdmin = principal.roles.includes('admin');
  // One that exists, and that the principal may not see, is answered in the same way.
  if (!isAdmin && (!permits(next) || (current !== undefined && !replaces(current)))) throw notImportable();
  await refuseDelegation(options, { principal, current, next });
}

async function* shownOf(
  batches: ReturnType<AutomationStore['export']>,
  isShown: (automation: Automation) => boolean,
): ReturnType<AutomationStore['export']> {
  for await (const texts of batches) yield texts.filter((text) => isShown(parseDocument(text)));
}
