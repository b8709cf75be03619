import { isUtf8 } from 'node:buffer';
import type { Principal } from '#access/principal.ts';
import type { Rights } from '#access/rights.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { documentDigest } from './document-digest.ts';
import type { WorkflowProblem } from './reader/reading.ts';
import type { ReadingThreads, WorkflowFacts, WorkflowJudgement } from './reading-threads.ts';
import type { SecretUse } from './secret-use.ts';
import type {
  StoredWorkflow,
  WorkflowMediaType,
  WorkflowName,
  WorkflowStore,
  WorkflowUse,
  WorkflowVersion,
} from './workflow-store.ts';
import type { MissingRight, WritingRight } from './writing-right.ts';

/** A document as its writer sent it. */
interface GivenDocument {
  readonly principal: Principal;
  readonly bytes: Buffer;
  readonly mediaType: WorkflowMediaType;
}

/**
 * The workflows for a principal that may use the operation for some workflow. The catalogue judges the one that is asked about, and each call
 * of a document. What the principal may not see is answered like what does not exist.
 */
export interface WorkflowCatalogue {
  /** Reads a document, judges the rights of the principal to write it, and stores nothing. */
  check(given: GivenDocument): Promise<{
    readonly errors: readonly WorkflowProblem[];
    /** How `create` would refuse the document, if it would. */
    readonly refusal: 'forbidden' | 'workflow-invalid' | undefined;
    readonly warnings: readonly WorkflowProblem[];
    /** The document as JSON text; undefined where its text cannot be read. */
    readonly definition: string | undefined;
  }>;
  /**
   * `workflow-invalid` (400) has every problem of the document. `forbidden` (403) has each call for which the principal has no right.
   * `workflow-exists` (409): the version has other content, or was deleted with other content.
   */
  create(given: GivenDocument): Promise<{
    readonly workflow: StoredWorkflow;
    readonly warnings: readonly WorkflowProblem[];
  }>;
  /**
   * Without a version the highest release, or where there is none the highest pre-release. Rejects with `workflow-not-found` (404).
   */
  read(request: WorkflowName & { readonly principal: Principal }): Promise<StoredWorkflow>;
  list(request: Parameters<WorkflowStore['list']>[0] & { readonly principal: Principal }): ReturnType<WorkflowStore['list']>;
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
  /** The names of the adapter instances now that the principal may use. Undefined: it may use none. */
  readonly adapters: (principal: Principal) => readonly string[] | undefined;
  readonly rights: Rights;
  readonly writing: Pick<WritingRight, 'missingFor' | 'missingToStore'>;
  readonly secretUse: Pick<SecretUse, 'problemsOf' | 'whyNot'>;
  /** A run that has not ended has pinned a document with one of these digests. */
  readonly isPinned: (digests: readonly string[]) => Promise<boolean>;
  readonly clock: Clock;
}

/** See `WorkflowCatalogue.check`. */
export function checkDocument({
  writing,
  ...options
}: DocumentNeeds & Pick<WorkflowCatalogueOptions, 'writing'>): WorkflowCatalogue['check'] {
  const judge = createJudge(options);
  return async (given) => {
    const judgement = await judge(given);
    const { warnings } = judgement;
    if ('problems' in judgement) {
      const { problems: errors, definition } = judgement;
      return { errors, refusal: 'workflow-invalid', warnings, definition };
    }
    const { facts } = judgement;
    const missing = await writing.missingToStore(given.principal, facts);
    const refusal = missing.length === 0 ? undefined : 'forbidden';
    return { errors: missing.map(problemOf), refusal, warnings, definition: facts.definition };
  };
}

type DocumentNeeds = Pick<WorkflowCatalogueOptions, 'adapters' | 'reading'> & {
  readonly secretUse: Pick<SecretUse, 'problemsOf'>;
};

function createJudge({ reading, adapters, secretUse }: DocumentNeeds): (given: GivenDocument) => Promise<WorkflowJudgement> {
  return async ({ principal, bytes, mediaType }) => {
    if (!isUtf8(bytes)) return notUtf8;
    const known = adapters(principal);
    const document = { text: bytes.toString(), mediaType, ...(known && { adapters: known }) };
    const judgement = await reading.read({ principal: principal.id, ...document });
    if ('problems' in judgement) return judgement;
    const { id, secrets = [], definition } = judgement.facts;
    const refused = secretUse.problemsOf(principal, { id, secrets });
    if (refused.length === 0) return judgement;
    const problems = refused.map((detail) => ({ pointer: '/use/secrets', detail, line: 1, column: 1 }));
    return { problems, warnings: judgement.warnings, definition };
  };
}

export function createWorkflowCatalogue(options: WorkflowCatalogueOptions): WorkflowCatalogue {
  const { store, reading, adapters, rights, writing, secretUse, clock } = options;
  const judge = createJudge({ reading, adapters, secretUse });
  return {
    check: checkDocument({ reading, adapters, writing, secretUse }),
    async create(given) {
      const judgement = await judge(given);
      if ('problems' in judgement) throw invalid(judgement.problems);
      const { facts, warnings } = judgement;
      const { bytes, mediaType, principal } = given;
      refuseMissing(await writing.missingToStore(principal, facts));
      const text = bytes.toString();
      const digest = documentDigest(text);
      const storers = [{ id: principal.id, username: principal.username, lends: true }];
      const stamp = { createdAt: clock.now(), createdBy: storableName(principal.username), digest, storers };
      const workflow = await store.add({ ...shortened(facts), text, mediaType, ...stamp });
      if (workflow === 'deleted') throw existed(facts);
      if (workflow.text !== text) throw exists(workflow);
      return { workflow, warnings };
    },
    async read({ principal, ...name }) {
      const workflow = rights.permits(principal, 'readWorkflow', name.id) ? await store.read(name) : undefined;
      if (workflow === undefined) throw notFound();
      return workflow;
    },
    list({ principal, ...page }) {
      const covers = (id: string): boolean => rights.permits(principal, 'listWorkflows', id);
      return store.list({ ...page, ...(rights.isLimited(principal, 'listWorkflows') ? { covers } : {}) });
    },
    ...createTakings(options),
  };
}

/** What becomes of versions that are stored. */
function createTakings({
  store,
  isPinned,
  rights,
  writing,
  secretUse,
}: WorkflowCatalogueOptions): Pick<WorkflowCatalogue, 'remove' | 'take' | 'removeTombstone'> {
  const refuse = async (
    principal: Principal,
    operation: 'deleteWorkflow' | 'takeWorkflow',
    found: readonly WorkflowVersion[],
  ): Promise<void> => {
    const [first] = found;
    if (first === undefined || !rights.permits(principal, operation, first.id)) throw notFound();
    for (const each of found) refuseMissing(await writing.missingFor(principal, each));
  };
  return {
    remove: ({ principal, ...name }) =>
      store.remove(name, async (found, use) => {
        await refuse(principal, 'deleteWorkflow', found);
        const reason = whyInUse(use) ?? ((await isPinned(found.map(({ digest }) => digest))) ? ofRuns : undefined);
        if (reason !== undefined) throw new GatewayError('workflow-in-use', reason);
      }),
    take: ({ principal, ...name }) =>
      store.take({ ...name, taker: principal }, async (found) => {
        await refuse(principal, 'takeWorkflow', found);
        for (const pin of found) {
          const reason = await secretUse.whyNot(pin, [principal]);
          if (reason !== undefined)
            throw new GatewayError('workflow-invalid', `You may not be storer of this workflow: ${reason}`);
        }
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

/** In a document that is not the checked one, the place is the whole document. */
function problemOf({ line = 1, column = 1, ...missing }: MissingRight): WorkflowProblem {
  return { ...missing, line, column };
}

function refuseMissing(missing: readonly MissingRight[]): void {
  const [first] = missing;
  if (first === undefined) return;
  const more = missing.length > 1 ? ` (and ${missing.length - 1} more, see errors)` : '';
  const place = first.pointer === '' ? '' : ` ${first.pointer}`;
  throw new GatewayError('forbidden', `You may not write this workflow:${place} ${first.detail}${more}.`, {
    errors: missing,
    logged: 'The caller may not write this workflow.',
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
