import type { Principal } from '#access/principal.ts';
import type { Rights } from '#access/rights/rights.ts';
import type { Clock } from '#base/clock.ts';
import type { Database } from '#database/database.ts';
import { mergePatch } from '#json/merge-patch.ts';
import type { Automation } from './automation.ts';
import {
  mayEdit,
  mayPatch,
  mayRead,
  mayRun,
  maySee,
  namedWorkflow,
  notCovered,
  notFound,
  notImportable,
  notRunnable,
  notWritable,
  permitsChange,
  viewerOf,
} from './automation-access.ts';
import {
  type AutomationDraft,
  type GivenAutomation,
  generateId,
  inUtc,
  isId,
  refuseContradictions,
} from './automation-document.ts';
import type { HistoryEntry } from './automation-history.ts';
import { previewAutomation } from './automation-preview.ts';
import { type AutomationState, createWriting, stateOf } from './automation-writing.ts';
import { type DelegationNeeds, refuseDelegation } from './delegation.ts';
import { entityTag, type Preconditions, requireMatch } from './entity-tag.ts';
import type { ListOptions } from './list-options.ts';
import { parseDocument, taggedText } from './store/automation-row.ts';
import {
  type AutomationStore,
  type AutomationWriter,
  createAutomationStore,
  exportedAutomations,
  type ReadTransaction,
  type StoredAutomation,
} from './store/automation-store.ts';
import { steeringOf } from './timing/schedule.ts';
import { patchOfNextRun, withSettledSchedule } from './timing/settled-schedule.ts';
import { type ImportedLine, importAutomations } from './transfer/import-automations.ts';
import { type OtherKinds, type TransferKind, transferKinds } from './transfer/other-kinds.ts';

export type { AutomationState };

export type AutomationWithPeople = Pick<StoredAutomation, 'automation' | 'people'>;

interface AutomationRequest {
  readonly principal: Principal;
  readonly id: string;
}

interface AutomationChange extends AutomationRequest {
  readonly preconditions: Preconditions;
}

interface ListRequest {
  readonly principal: Principal;
  readonly options: ListOptions;
}

interface ImportRequest {
  readonly principal: Principal;
  readonly source: AsyncIterable<Buffer>;
  /** Absent: automations alone. */
  readonly others?: OtherKinds;
}

interface ExportRequest {
  readonly principal: Principal;
  /** Absent: all kinds. */
  readonly kind?: TransferKind | undefined;
  /** Absent: automations alone. */
  readonly others?: Pick<OtherKinds, 'export'>;
}

/** An operation that changes an automation. */
type Change = Parameters<typeof mayEdit>[2];

interface AutomationCatalogueOptions extends DelegationNeeds {
  readonly database: Database;
  readonly clock: Clock;
  readonly rights: Rights;
}

export type AutomationCatalogue = ReturnType<typeof createAutomationCatalogue>;

/**
 * The catalogue, for principals that may use the operation for some automation. It judges the automation by groups, and by the workflows
 * that rights cover, before and after a change. Rejects with `automation-not-found` (404) if the principal may not see it, else `forbidden`
 * (403), `precondition-failed` (412), `automation-exists` (409), `body-too-large` (413) and `store-unavailable` (503). Changes reject as
 * `refuseDelegation` too.
 */
export function createAutomationCatalogue(options: AutomationCatalogueOptions) {
  const { database, rights, clock } = options;
  const store = createAutomationStore(database);
  const writing = createWriting(options);
  const settle: Settle = (operation, write) => settleWrite(operation, write, options);
  return {
    list: (request: ListRequest) => listShown(request, store, rights),
    async create({ principal, given }: { readonly principal: Principal; readonly given: GivenAutomation }) {
      const settled = settle('createAutomation', { principal, given });
      return store.change((writer) => writing.write(writer, { principal, id: generateId(), settled }));
    },
    preview: (request: PreviewRequest) => previewCreation(request, { store, settle }, options),
    history: (request: HistoryRequest) => readHistory(request, store, rights),
    async read({ principal, id }: AutomationRequest): Promise<AutomationState> {
      const stored = isId(id) ? await store.read(id) : undefined;
      if (stored === undefined || !mayRead(rights, principal, 'readAutomation', stored.automation)) throw notFound();
      return stateOf(stored.automation);
    },
    replace: (request: AutomationChange & { readonly given: GivenAutomation }) =>
      changeOne(store, request, judgeEditor(rights, 'replaceAutomation'), async (writer, stored) => {
        const settled = settle('replaceAutomation', { ...request, current: stored.automation });
        return writing.write(writer, { ...request, settled, stored });
      }),
    /** RFC 7396, validated by `automationPatchSchema` and `patchProblems`. Who may run the automation may pause and resume it, by `steeringOf`. */
    patch: (request: PatchRequest) => patchOne(request, { store, writing, settle }, rights),
    remove: (request: AutomationChange) =>
      changeOne(store, request, judgeEditor(rights, 'deleteAutomation'), async (writer, { automation }) => {
        await refuseDelegation(options, { principal: request.principal, current: automation });
        await writer.note([{ automation, change: 'deleted', by: request.principal, at: clock.now() }]);
        return stateOf(automation);
      }),
    /** Makes the principal answer for the automation, if it may write the workflow. */
    take: (request: AutomationChange) =>
      changeOne(store, request, judgeEditor(rights, 'takeAutomation'), (writer, stored) =>
        writing.take(writer, { ...request, stored }),
      ),
    ...createTransfer(store, options),
    /** For runs, which need no principal. */
    find: async (id: string): Promise<AutomationWithPeople | undefined> => (isId(id) ? await store.read(id) : undefined),
    /** For filters of runs: `_id` of the automation with exactly this name. */
    idNamed: (name: string): Promise<string | undefined> => store.idNamed(name),
    /** Deletes what is left of automations that were deleted before (milliseconds since the epoch). */
    async forgetDeleted(before: number): Promise<void> {
      while ((await store.forgetHistory(before)) > 0);
    },
    onChange: store.onChange,
  };
}

/** Imports and exports of the whole catalogue. */
function createTransfer(store: AutomationStore, options: AutomationCatalogueOptions) {
  const { rights, clock } = options;
  return {
    /** Judges each line as a single change; `forbidden` (403) names the lines that the principal may not store. */
    import({ principal, source, others: kinds }: ImportRequest) {
      const isFree = principal.roles.includes('admin') && !options.asksAuthors();
      const others = kinds?.beginImport(principal);
      const needs = { ...options, ...others?.delegation };
      const judge = isFree ? undefined : (line: ImportedLine): Promise<void> => judgeLine(line, principal, needs);
      return store.importing(() => importAutomations({ store, clock, source, importer: principal, judge, others }));
    },
    /** Lines, without what the principal may not see. */
    export({ principal, kind, others = noOthers }: ExportRequest): ReturnType<AutomationStore['export']> {
      const wanted = transferKinds.filter((each) => kind === undefined || each === kind);
      return store.export(
        wanted.map((each) => (moment) => {
          if (each === 'automation') return automationLines(moment, rights, principal);
          return others.export(each, principal, moment);
        }),
      );
    },
  };
}

type Settle = (operation: Change, write: SettledWrite) => ReturnType<typeof settleWrite>;

interface PatchRequest extends AutomationChange {
  readonly patch: unknown;
}

interface Writing {
  readonly store: AutomationStore;
  readonly writing: ReturnType<typeof createWriting>;
  readonly settle: Settle;
}

async function patchOne(request: PatchRequest, { store, writing, settle }: Writing, rights: Rights): Promise<AutomationState> {
  const { patch, principal } = request;
  const steering = steeringOf(patch);
  if (steering !== undefined)
    return changeOne(store, request, judgeRunner(rights), (writer, stored) =>
      writing.steer(writer, { principal, steering, stored }),
    );
  if (!mayPatch(rights, principal)) throw notWritable();
  return changeOne(store, request, judgeEditor(rights, 'patchAutomation'), async (writer, stored) => {
    const { automation: current, givenNext } = stored;
    const given = mergePatch(current, patch) as Automation;
    const settled = settle('patchAutomation', { principal, given, current, patch });
    const keepsNext = patchOfNextRun(patch) === 'kept' && settled.nextRunAt === current.nextRunAt;
    return writing.write(writer, { ...request, settled, stored, ...(keepsNext && { givenNext }) });
  });
}

interface PreviewRequest {
  readonly principal: Principal;
  readonly draft: AutomationDraft;
}

/** Rejects with `forbidden` where a right that allows previews does not cover the workflow. */
function previewCreation(
  { principal, draft }: PreviewRequest,
  { store, settle }: Pick<Writing, 'settle' | 'store'>,
  options: AutomationCatalogueOptions,
) {
  const { rights, clock } = options;
  const given = draft.problems.length === 0 ? (draft.given as GivenAutomation) : undefined;
  if (given !== undefined && !rights.permits(principal, 'previewAutomation', namedWorkflow(given))) throw notCovered();
  const settleDraft = (valid: GivenAutomation): unknown => settle('createAutomation', { principal, given: valid });
  return previewAutomation(principal, draft, { ...options, store, settle: settleDraft, now: clock.now() });
}

interface HistoryRequest extends AutomationRequest {
  /** The number at the end of the page before. */
  readonly before?: number | undefined;
}

/** Pages of the store that one request reads at most, where the principal may see nothing of them. */
const maxHiddenPages = 20;

/**
 * What people changed of it, the newest first. Of a deleted one for admins alone. Each state is judged as if it were the present one. So what
 * a state hid from the groups of the principal stays hidden.
 */
async function readHistory({ principal, id, before }: HistoryRequest, store: AutomationStore, rights: Rights) {
  if (!isId(id)) throw notFound();
  const isAdmin = principal.roles.includes('admin');
  const stored = await store.read(id);
  const isShown = stored === undefined ? isAdmin : mayRead(rights, principal, 'readAutomationHistory', stored.automation);
  if (!isShown) throw notFound();
  const sees = ({ document }: HistoryEntry): boolean =>
    isAdmin || mayRead(rights, principal, 'readAutomationHistory', parseDocument(document));
  let from = before;
  for (let pages = 1; ; pages += 1) {
    const { list, next } = await store.history(id, { before: from, sinceDeletion: !isAdmin });
    if (stored === undefined && list.length === 0) throw notFound();
    const seen = list.filter(sees);
    if (seen.length > 0 || next === undefined || pages === maxHiddenPages) return { list: seen, next };
    from = next;
  }
}

interface SettledWrite {
  readonly principal: Principal;
  readonly given: GivenAutomation;
  readonly current?: Automation;
  readonly patch?: unknown;
}

/** Throws `forbidden` where a right that allows the change does not cover what the automation becomes. */
function settleWrite(
  operation: Change,
  { principal, given, current, patch }: SettledWrite,
  { clock, rights }: AutomationCatalogueOptions,
) {
  refuseContradictions(given);
  const patched = patch === undefined ? undefined : patchOfNextRun(patch);
  const settled = withSettledSchedule({ current, given: inUtc(given), patched, now: clock.now() });
  if (!permitsChange(rights, principal, operation, namedWorkflow(settled))) throw notCovered();
  return settled;
}

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

/** Removes the automation; `work` inserts what it becomes. */
async function changeOne<T>(
  store: AutomationStore,
  { principal, id, preconditions }: AutomationChange,
  judge: Judge,
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

/** The store compares ids of workflows without regard to case, so its page may have documents that no right covers. */
async function listShown({ principal, options }: ListRequest, store: AutomationStore, rights: Rights) {
  const viewer = viewerOf(rights, principal);
  const { list, total, isCut } = await store.list({ options, viewer, principal: principal.id });
  const isShown = (text: string): boolean => mayRead(rights, principal, 'listAutomations', parseDocument(text));
  return {
    /** JSON texts. */
    list: viewer.workflows ? list.filter(isShown) : list,
    total,
    skip: options.skip,
    /** Of a page that its bytes cut: as many as it has. */
    limit: isCut ? list.length : options.limit,
    isCut,
  };
}

const noOthers: Pick<OtherKinds, 'export'> = {
  async *export() {},
};

async function* automationLines(
  moment: ReadTransaction,
  rights: Rights,
  principal: Principal,
): ReturnType<AutomationStore['export']> {
  for await (const texts of exportedAutomations(moment))
    yield texts
      .filter((text) => mayRead(rights, principal, 'exportAutomations', parseDocument(text)))
      .map((text) => `{"kind":"automation","document":${text}}`);
}

async function judgeLine(
  { current, next }: ImportedLine,
  principal: Principal,
  { rights, ...needs }: AutomationCatalogueOptions,
): Promise<void> {
  const operation = current === undefined ? 'createAutomation' : 'replaceAutomation';
  const permits = (automation: Automation): boolean =>
    ([operation, 'importAutomations'] as const).every((each) => rights.permits(principal, each, namedWorkflow(automation)));
  const replaces = (automation: Automation): boolean =>
    permits(automation) && maySee(rights, principal, operation, automation) && mayEdit(rights, principal, operation, automation);
  const isAdmin = principal.roles.includes('admin');
  // The same answer for an automation that the principal may not see.
  if (!isAdmin && (!permits(next) || (current !== undefined && !replaces(current)))) throw notImportable();
  await refuseDelegation(needs, { principal, current, next });
}
