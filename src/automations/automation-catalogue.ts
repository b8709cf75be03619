import { hasRole, type Principal } from '#access/principal.ts';
import type { Clock } from '#base/clock.ts';
import type { Database } from '#database/database.ts';
import { mergePatch } from '#json/merge-patch.ts';
import type { Automation } from './automation.ts';
import { mayRun, maySee, mayWrite, viewerOf, writingRoles } from './automation-access.ts';
import { type GivenAutomation, generateId, inUtc, isId, refuseContradictions } from './automation-document.ts';
import { type ImportResult, importAutomations } from './automation-import.ts';
import { taggedText } from './automation-row.ts';
import { type AutomationStore, type AutomationWriter, createAutomationStore, type StoredAutomation } from './automation-store.ts';
import { type AutomationState, createSteering, createTaking, createWriting, stateOf } from './automation-writing.ts';
import { notFound, notRunnable, notWritable } from './catalogue-refusals.ts';
import { refuseDelegation, type WhyNotWriter } from './delegation.ts';
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
  readonly limit: number;
}

export type { AutomationState };

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
  /**
   * `patch` by RFC 7396; it has been validated by `automationPatchSchema` and `patchProblems`. Who may run the automation may pause and resume
   * it (`steeringOf`), which changes nothing else.
   */
  patch(request: AutomationChange & { readonly patch: unknown }): Promise<AutomationState>;
  /** Resolves with the automation as it was. */
  remove(request: AutomationChange): Promise<AutomationState>;
  /** Makes the principal answer for the automation, which stays as it is. It may write the workflow. */
  take(request: AutomationChange): Promise<AutomationState>;
  /** See `importAutomations`; for admins, who see all. */
  import(request: { readonly principal: Principal; readonly source: AsyncIterable<Buffer> }): Promise<ImportResult>;
  /** See `AutomationStore.export`; for admins. */
  export: AutomationStore['export'];
  /** The automation and its people, for runs, which need no principal. */
  find(id: string): Promise<Pick<StoredAutomation, 'automation' | 'people'> | undefined>;
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
  const settle = (given: GivenAutomation, before?: { readonly current: Automation; readonly patch?: unknown }) => {
    refuseContradictions(given);
    const patched = before?.patch === undefined ? undefined : patchOfNextRun(before.patch);
    return withSettledSchedule({ current: before?.current, given: inUtc(given), patched, now: clock.now() });
  };
  const write = createWriting({ clock, whyNotWriter });
  const steer = createSteering({ clock, whyNotWriter });
  const take = createTaking({ whyNotWriter });
  return {
    async list({ principal, options }) {
      const { list, total } = await store.list({ options, viewer: viewerOf(principal), principal: principal.id });
      return { list, total, skip: options.skip, limit: options.limit };
    },
    async create({ principal, given }) {
      const settled = settle(given);
      return store.change((writer) => write(writer, { principal, id: generateId(), settled }));
    },
    async read({ principal, id }) {
      const stored = isId(id) ? await store.read(id) : undefined;
      if (stored === undefined || !maySee(principal, stored.automation)) throw notFound();
      return stateOf(stored.automation);
    },
    replace: (request) =>
      changeOne(store, request, async (writer, stored) => {
        const settled = settle(request.given, { current: stored.automation });
        return write(writer, { ...request, settled, stored });
      }),
    async patch(request) {
      const { patch, principal } = request;
      const steering = steeringOf(patch);
      if (steering !== undefined)
        return changeOne(store, { ...request, judge: judgeRunner }, (writer, stored) =>
          steer(writer, { principal, steering, stored }),
        );
      if (!hasRole(principal, writingRoles)) throw notWritable();
      return changeOne(store, request, async (writer, stored) => {
        const { automation: current, givenNext } = stored;
        const settled = settle(mergePatch(current, patch) as Automation, { current, patch });
        const keepsNext = patchOfNextRun(patch) === 'kept' && settled.nextRunAt === current.nextRunAt;
        return write(writer, { ...request, settled, stored, ...(keepsNext && { givenNext }) });
      });
    },
    remove: (request) =>
      changeOne(store, request, async (_writer, { automation }) => {
        await refuseDelegation(whyNotWriter, { principal: request.principal, current: automation });
        return stateOf(automation);
      }),
    take: (request) => changeOne(store, request, (writer, stored) => take(writer, { ...request, stored })),
    import: ({ principal, source }) => store.importing(() => importAutomations({ store, source, importer: principal })),
    export: () => store.export(),
    find: async (id) => (isId(id) ? await store.read(id) : undefined),
    onChange: (listener) => store.onChange(listener),
  };
}

/** Throws where the principal may not change the automation. */
type Judge = (principal: Principal, automation: Automation) => void;

function judgeWriter(principal: Principal, automation: Automation): void {
  if (!maySee(principal, automation)) throw notFound();
  if (!mayWrite(principal, automation)) throw notWritable();
}

function judgeRunner(principal: Principal, automation: Automation): void {
  if (mayRun(principal, automation)) return;
  throw maySee(principal, automation) ? notRunnable() : notFound();
}

/** Removes the automation, where `judge` lets the principal change it and the preconditions hold; `work` inserts what it becomes. */
async function changeOne<T>(
  store: AutomationStore,
  { principal, id, preconditions, judge = judgeWriter }: AutomationChange & { readonly judge?: Judge },
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
