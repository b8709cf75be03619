import type { Principal } from '#access/principal.ts';
import type { Rights } from '#access/rights/rights.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { nestedBatches } from './nested-batches.ts';
import type { SecretUse } from './secret-use.ts';
import { type JudgeDocument, readStorable, refuseMissingRights, requireAdded } from './storable-workflow.ts';
import { isPrerelease, versionKey } from './version-key.ts';
import type { StoredWorkflow, WorkflowName, WorkflowStore } from './workflow-store.ts';
import type { WritingRight } from './writing-right.ts';

export interface WorkflowImport {
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
export function beginWorkflowImport(
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
