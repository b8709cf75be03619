import { isUtf8 } from 'node:buffer';
import type { Principal } from '#access/principal.ts';
import type { Rights } from '#access/rights/rights.ts';
import type { Clock } from '#base/clock.ts';
import { errorCodes } from '#base/error-codes.ts';
import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import { refuseNewerRow } from '#database/row-version.ts';
import type { DocumentProblem } from '#yaml/document-reading.ts';
import type { ReadingThreads, WorkflowJudgement } from '../reading-threads.ts';
import type { SecretUse } from './secret-use.ts';
import {
  type GivenDocument,
  type JudgeDocument,
  nestedBatches,
  readStorable,
  refuseMissingRights,
  requireAdded,
} from './storable-workflow.ts';
import { isPrerelease, versionKey } from './version-key.ts';
import type {
  StoredWorkflow,
  WorkflowMediaType,
  WorkflowName,
  WorkflowStore,
  WorkflowUse,
  WorkflowVersion,
} from './workflow-store.ts';
import type { WritingRight } from './writing-right.ts';

/** What the principal may not see is answered like what does not exist. The route has judged the right to the operation. */
export interface WorkflowCatalogue {
  check(given: GivenDocument): Promise<{
    readonly errors: readonly DocumentProblem[];
    /** How `create` would refuse the document. */
    readonly refusal: 'forbidden' | 'workflow-invalid' | undefined;
    readonly warnings: readonly DocumentProblem[];
    /** JSON text; undefined where the text cannot be read. */
    readonly definition: string | undefined;
  }>;
  /** Rejects with `workflow-invalid` (400, every problem), `forbidden` (403, each call without a right), `workflow-exists` (409). */
  create(given: GivenDocument): Promise<{
    readonly workflow: StoredWorkflow;
    readonly warnings: readonly DocumentProblem[];
  }>;
  /** Workflows of an import. They may run each other, in any order of the lines. */
  beginImport(principal: Principal): WorkflowImport;
  /** Every version that the principal may export, in groups. */
  all(principal: Principal, moment: Parameters<WorkflowStore['all']>[0]): ReturnType<WorkflowStore['all']>;
  /** Without a version the highest release, else the highest pre-release. Rejects with `workflow-not-found`. */
  read(request: WorkflowName & { readonly principal: Principal }): Promise<StoredWorkflow>;
  list(request: Parameters<WorkflowStore['list']>[0] & { readonly principal: Principal }): ReturnType<WorkflowStore['list']>;
  /** One version, or all. Rejects with `workflow-in-use` (409), `workflow-not-found`, `forbidden`. */
  remove(request: WorkflowName & { readonly principal: Principal }): Promise<void>;
  /** Makes the principal storer of one version, or of all, and answers them. Rejects with `workflow-not-found`, `forbidden`. */
  take(request: WorkflowName & { readonly principal: Principal }): Promise<readonly string[]>;
  /** Lets other bytes take the place of a deleted version. For admins. Rejects with `workflow-not-found`, `forbidden`. */
  removeTombstone(request: { readonly principal: Principal; readonly id: string; readonly version: string }): Promise<void>;
}

export type { StoredWorkflow, WorkflowMediaType, WorkflowName };

interface WorkflowCatalogueOptions {
  readonly store: WorkflowStore;
  readonly reading: ReadingThreads;
  /** The instances that the principal may use. Undefined: none. */
  readonly adapters: (principal: Principal) => readonly string[] | undefined;
  readonly rights: Rights;
  readonly writing: Pick<WritingRight, 'missingFor' | 'missingToStore' | 'over'>;
  readonly secretUse: Pick<SecretUse, 'over' | 'problemsOf' | 'whyNot'>;
  /** For a run that has not ended. */
  readonly isPinned: (digests: readonly string[]) => Promise<boolean>;
  readonly clock: Clock;
}

function checkDocument({
  writing,
  ...options
}: DocumentNeeds & { readonly writing: Pick<WritingRight, 'missingToStore'> }): WorkflowCatalogue['check'] {
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

type DocumentNeeds = Pick<WorkflowCatalogueOptions, 'adapters' | 'reading' | 'rights' | 'store'> & {
  readonly secretUse: Pick<SecretUse, 'problemsOf'>;
};

function createJudge({
  reading,
  adapters,
  rights,
  secretUse,
  store,
}: DocumentNeeds): (given: GivenDocument) => Promise<WorkflowJudgement> {
  return async ({ principal, bytes, mediaType }) => {
    if (!isUtf8(bytes)) return notUtf8;
    const known = adapters(principal);
    const document = { text: bytes.toString(), mediaType, ...(known && { adapters: known }) };
    const judgement = await reading.read({ principal: principal.id, ...document });
    if ('problems' in judgement) return judgement;
    const { id, secrets = [], definition } = judgement.facts;
    const refused = secretUse.problemsOf(principal, { id, secrets });
    const ofSecrets = refused.map((detail) => ({ pointer: '/use/secrets', detail, line: 1, column: 1 }));
    const find: WorkflowStore['find'] = async (name) =>
      rights.permits(principal, 'readWorkflow', name.id) ? await store.find(name) : undefined;
    const problems = [...ofSecrets, ...(await nestedBatches({ find }, judgement.facts))];
    return problems.length === 0 ? judgement : { problems, warnings: judgement.warnings, definition };
  };
}

export function createWorkflowCatalogue(options: WorkflowCatalogueOptions): WorkflowCatalogue {
  const { store, rights, writing, clock } = options;
  const judge = createJudge(options);
  return {
    check: checkDocument(options),
    async create(given) {
      const { workflow, warnings } = await readStorable(given, { judge, clock });
      refuseMissingRights(await writing.missingToStore(given.principal, workflow));
      const { stored } = requireAdded(await store.add(workflow), workflow);
      return { workflow: stored, warnings };
    },
    beginImport: (principal) => beginWorkflowImport(principal, { ...options, judge }),
    async read({ principal, ...name }) {
      const workflow = rights.permits(principal, 'readWorkflow', name.id) ? await store.read(name) : undefined;
      if (workflow === undefined) throw notFound();
      return workflow;
    },
    async *all(principal, moment) {
      for await (const workflows of store.all(moment))
        yield workflows.filter(({ id }) => rights.permits(principal, 'exportAutomations', id));
    },
    list({ principal, ...page }) {
      const covers = (id: string): boolean => rights.permits(principal, 'listWorkflows', id);
      return store.list({ ...page, ...(rights.isLimited(principal, 'listWorkflows') ? { covers } : {}) });
    },
    ...createTakings(options),
  };
}

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
    for (const each of found) refuseMissingRights(await writing.missingFor(principal, each));
    for (const { version, lowest } of found) refuseNewerRow(`The version ${version}`, lowest);
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
      if (!principal.roles.includes('admin'))
        throw new GatewayError('forbidden', 'Removing the tombstone of a version needs the role admin.');
      if (!(await store.removeTombstone(name)))
        throw new GatewayError(
          'workflow-not-found',
          'There is no tombstone of this version: it was not deleted, or it was stored again.',
        );
    },
  };
}

const notUtf8: WorkflowJudgement = {
  problems: [{ pointer: '', detail: 'the document is not UTF-8', line: 1, column: 1 }],
  warnings: [],
};

/** A problem of another document is shown at the start of this one. */
function problemOf({ line = 1, column = 1, ...missing }: RequestProblem): DocumentProblem {
  return { ...missing, line, column };
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

interface ExplainedStoring {
  readonly allowed: boolean;
  readonly reason: string;
  readonly errors: readonly RequestProblem[];
}

export async function explainStoring(
  check: WorkflowCatalogue['check'],
  { principal, text }: { readonly principal: Principal; readonly text: string },
): Promise<ExplainedStoring> {
  const { errors, refusal } = await check({ principal, bytes: Buffer.from(text), mediaType: 'application/yaml' });
  if (refusal === undefined) return { allowed: true, reason: 'Each call of the document is allowed in a run.', errors };
  const places = errors.map(({ pointer, detail }) => `${pointer === '' ? 'the document' : pointer} ${detail}`);
  return { allowed: false, reason: `The caller gets ${errorCodes[refusal].status} ${refusal}: ${places.join('; ')}`, errors };
}

interface WorkflowImport {
  /** Rejects with `workflow-invalid`. */
  read(line: Required<WorkflowName> & Pick<StoredWorkflow, 'mediaType' | 'text'>): Promise<StoredWorkflow>;
  /** Resolves with true where it was there before. Rejects with `forbidden`, `workflow-exists`. */
  store(transaction: Parameters<WorkflowStore['addIn']>[0], workflow: StoredWorkflow): Promise<boolean>;
  /** Knows what was read. */
  readonly delegation: { readonly writing: WritingRight; readonly secretUse: SecretUse };
}

interface ImportNeeds {
  readonly store: WorkflowStore;
  readonly judge: JudgeDocument;
  readonly rights: Rights;
  readonly writing: Pick<WritingRight, 'over'>;
  readonly secretUse: Pick<SecretUse, 'over'>;
  readonly clock: Clock;
}

/** Workflows of an import may run each other, in any order of the lines. */
function beginWorkflowImport(
  principal: Principal,
  { store, judge, rights, writing, secretUse, clock }: ImportNeeds,
): WorkflowImport {
  const { over, add } = storeWithImport(store);
  // The other versions of the import are judged by their own lines.
  const toStore = writing.over({ read: over.read, versions: (id) => store.versions(id) });
  return {
    delegation: { writing: writing.over(over), secretUse: secretUse.over(over) },
    async read({ id, version, mediaType, text }) {
      const { workflow } = await readStorable({ principal, mediaType, bytes: Buffer.from(text) }, { judge, clock });
      if (workflow.id !== id || workflow.version !== version)
        throw new GatewayError(
          'workflow-invalid',
          `The line is of ${id} ${version}, and its document of ${workflow.id} ${workflow.version}.`,
        );
      add(workflow);
      return workflow;
    },
    async store(transaction, workflow) {
      if (!rights.permits(principal, 'importAutomations', workflow.id))
        throw new GatewayError('forbidden', `You may not import the workflow ${workflow.id}.`);
      refuseMissingRights(await toStore.missingToStore(principal, workflow));
      const [nested] = await nestedBatches(over, workflow);
      if (nested !== undefined) throw new GatewayError('workflow-invalid', `${nested.pointer} ${nested.detail}.`);
      return !requireAdded(await store.addIn(transaction, workflow), workflow).isNew;
    },
  };
}

/** The stored workflows, and those of an import, as if these were stored. */
function storeWithImport(store: WorkflowStore): {
  readonly over: Pick<WorkflowStore, 'find' | 'read' | 'versions'>;
  readonly add: (workflow: StoredWorkflow) => void;
} {
  /** By id, then by version. */
  const imported = new Map<string, Map<string, StoredWorkflow>>();
  const ofImport = ({ id, version = '' }: WorkflowName): StoredWorkflow | undefined => imported.get(id)?.get(version);
  const versions: WorkflowStore['versions'] = async (id) => {
    const own = imported.get(id);
    const others = (await store.versions(id)).filter(({ version }) => own?.has(version) !== true);
    const all = [...(own?.values() ?? []), ...others];
    return all.toSorted((a, b) => Buffer.compare(versionKey(b.version), versionKey(a.version)));
  };
  return {
    over: {
      read: async (name) => ofImport(name) ?? (await store.read(name)),
      versions,
      async find(name) {
        if (name.version !== undefined) return ofImport(name) ?? (await store.find(name));
        return (await versions(name.id)).find(({ version }) => !isPrerelease(version));
      },
    },
    add(workflow) {
      const own = imported.get(workflow.id) ?? new Map<string, StoredWorkflow>();
      imported.set(workflow.id, own.set(workflow.version, workflow));
    },
  };
}
