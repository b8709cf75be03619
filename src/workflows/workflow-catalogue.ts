import { isUtf8 } from 'node:buffer';
import type { Principal } from '#access/principal.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { documentDigest } from './document-digest.ts';
import type { WorkflowProblem } from './reader/reading.ts';
import type { ReadingThreads, WorkflowFacts, WorkflowJudgement } from './reading-threads.ts';
import type {
  StoredWorkflow,
  WorkflowMediaType,
  WorkflowName,
  WorkflowStore,
  WorkflowUse,
  WorkflowVersion,
} from './workflow-store.ts';
import { whyAdmin } from './writing-right.ts';

/** A document as its writer sent it. */
interface GivenDocument {
  readonly principal: Principal;
  readonly bytes: Buffer;
  readonly mediaType: WorkflowMediaType;
}

/** The workflows for a principal whose role is checked already; the catalogue checks what the calls of a workflow need. */
export interface WorkflowCatalogue {
  /** Reads a document and stores nothing. */
  check(given: GivenDocument): Promise<{
    readonly errors: readonly WorkflowProblem[];
    readonly warnings: readonly WorkflowProblem[];
    /** The document as JSON text; undefined where its text cannot be read. */
    readonly definition: string | undefined;
  }>;
  /**
   * `workflow-invalid` (400) has every problem of the document. `forbidden` (403): its calls need the role admin. `workflow-exists` (409):
   * the version has other content, or was deleted with other content.
   */
  create(given: GivenDocument): Promise<{
    readonly workflow: StoredWorkflow;
    readonly warnings: readonly WorkflowProblem[];
  }>;
  /** Without a version the highest release, or where there is none the highest pre-release. Rejects with `workflow-not-found` (404). */
  read(name: WorkflowName): Promise<StoredWorkflow>;
  list: WorkflowStore['list'];
  /**
   * Deletes one version, or all. `workflow-in-use` (409): an automation or another workflow names it, or a run that has not ended has it. Also
   * `workflow-not-found` and `forbidden`.
   */
  remove(request: WorkflowName & { readonly principal: Principal }): Promise<void>;
  /** Makes the principal storer of one version, or of all. Answers them. Rejects with `workflow-not-found` and `forbidden`. */
  take(request: WorkflowName & { readonly principal: Principal }): Promise<readonly string[]>;
  /** Lets other bytes take the place of a version that was deleted. For admins. Rejects with `workflow-not-found` and `forbidden`. */
  removeTombstone(request: { readonly principal: Principal; readonly id: string; readonly version: string }): Promise<void>;
}

export type { StoredWorkflow, WorkflowMediaType, WorkflowName };

interface WorkflowCatalogueOptions {
  readonly store: WorkflowStore;
  readonly reading: ReadingThreads;
  /** The names of the adapter instances now. */
  readonly adapters: () => readonly string[];
  /** A run that has not ended has pinned a document with one of these digests. */
  readonly isPinned: (digests: readonly string[]) => Promise<boolean>;
  readonly clock: Clock;
}

export function createWorkflowCatalogue({
  store,
  reading,
  adapters,
  isPinned,
  clock,
}: WorkflowCatalogueOptions): WorkflowCatalogue {
  const judge = async ({ principal, bytes, mediaType }: GivenDocument): Promise<WorkflowJudgement> =>
    isUtf8(bytes)
      ? await reading.read({ principal: principal.id, text: bytes.toString(), mediaType, adapters: adapters() })
      : notUtf8;
  const refuseCalls = async (principal: Principal, workflows: readonly WrittenCalls[]): Promise<void> => {
    if (principal.roles.includes('admin')) return;
    const reason = await whyAdmin(store, workflows);
    if (reason !== undefined)
      throw new GatewayError('forbidden', `Writing this workflow needs the role admin, because it ${reason}.`);
  };
  return {
    async check(given) {
      const judgement = await judge(given);
      const { warnings } = judgement;
      if ('problems' in judgement) return { errors: judgement.problems, warnings, definition: judgement.definition };
      return { errors: [], warnings, definition: judgement.facts.definition };
    },
    async create(given) {
      const judgement = await judge(given);
      if ('problems' in judgement) throw invalid(judgement.problems);
      const { facts, warnings } = judgement;
      const { bytes, mediaType, principal } = given;
      await refuseCalls(principal, [facts]);
      const text = bytes.toString();
      const digest = documentDigest(text);
      const storers = [{ id: principal.id, username: principal.username, lends: true }];
      const stamp = { createdAt: clock.now(), createdBy: storableName(principal.username), digest, storers };
      const workflow = await store.add({ ...shortened(facts), text, mediaType, ...stamp });
      if (workflow === 'deleted') throw existed(facts);
      if (workflow.text !== text) throw exists(workflow);
      return { workflow, warnings };
    },
    async read(name) {
      const workflow = await store.read(name);
      if (workflow === undefined) throw notFound();
      return workflow;
    },
    list: (page) => store.list(page),
    ...createTakings({ store, isPinned }, refuseCalls),
  };
}

/** What becomes of versions that are stored. `refuseCalls` throws for versions that the principal may not write. */
function createTakings(
  { store, isPinned }: Pick<WorkflowCatalogueOptions, 'store' | 'isPinned'>,
  refuseCalls: (principal: Principal, workflows: readonly WorkflowVersion[]) => Promise<void>,
): Pick<WorkflowCatalogue, 'remove' | 'take' | 'removeTombstone'> {
  return {
    remove: ({ principal, ...name }) =>
      store.remove(name, async (found, use) => {
        if (found.length === 0) throw notFound();
        await refuseCalls(principal, found);
        const reason = whyInUse(use) ?? ((await isPinned(found.map(({ digest }) => digest))) ? ofRuns : undefined);
        if (reason !== undefined) throw new GatewayError('workflow-in-use', reason);
      }),
    take: ({ principal, ...name }) =>
      store.take({ ...name, taker: principal }, async (found) => {
        if (found.length === 0) throw notFound();
        await refuseCalls(principal, found);
      }),
    async removeTombstone({ principal, ...name }) {
      if (!principal.roles.includes('admin')) throw ofAdmins();
      if (!(await store.removeTombstone(name)))
        throw new GatewayError(
          'workflow-not-found',
          'There is no tombstone of this version: it was not deleted, or it was stored again.',
        );
    },
  };
}

type WrittenCalls = Pick<WorkflowVersion, 'id' | 'version' | 'functions' | 'workflows'>;

/** Characters of a title that the catalogue lists. */
const longestTitle = 500;

function shortened(facts: WorkflowFacts): WorkflowFacts {
  return facts.title === undefined ? facts : { ...facts, title: facts.title.slice(0, longestTitle).toWellFormed() };
}

/** PostgreSQL accepts neither U+0000 nor a lone surrogate. */
function storableName(username: string): string {
  return username.replaceAll('\0', '\uFFFD').toWellFormed();
}

const notUtf8: WorkflowJudgement = {
  problems: [{ pointer: '', detail: 'the document is not UTF-8', line: 1, column: 1 }],
  warnings: [],
};

function invalid(problems: readonly WorkflowProblem[]): GatewayError {
  const [first] = problems;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more, see errors)` : '';
  const place = first === undefined ? '' : ` at line ${first.line}, column ${first.column}: ${first.detail}`;
  return new GatewayError('workflow-invalid', `The document is no workflow that can run${place}${more}.`, {
    errors: problems,
    logged: 'The document is no workflow that can run.',
  });
}

function exists({ id, version }: StoredWorkflow): GatewayError {
  return new GatewayError(
    'workflow-exists',
    `The version ${version} of ${id} has other content, and a version never changes; give the document another version.`,
  );
}

function ofAdmins(): GatewayError {
  return new GatewayError('forbidden', 'Removing the tombstone of a version needs the role admin.');
}

function existed({ id, version }: Pick<StoredWorkflow, 'id' | 'version'>): GatewayError {
  return new GatewayError(
    'workflow-exists',
    `The version ${version} of ${id} was deleted, and had other content; give the document another version. An admin can remove the tombstone of the deleted version.`,
  );
}

function notFound(): GatewayError {
  return new GatewayError('workflow-not-found', 'There is no workflow with this id, or it does not have this version.');
}

function whyInUse({ byAutomation, byWorkflow }: WorkflowUse): string | undefined {
  if (byAutomation) return 'An automation names this workflow in data.workflowId; change or delete the automation first.';
  if (byWorkflow === undefined) return undefined;
  return `The workflow ${byWorkflow} runs it; delete that version first.`;
}

const ofRuns = 'A run that has not ended has this document; wait until it has ended, or cancel it.';
