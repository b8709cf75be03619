import type { Principal } from '#access/principal.ts';
import type { Rights } from '#access/rights/rights.ts';
import { type AutomationCatalogue, createAutomationCatalogue } from '#automations/automation-catalogue.ts';
import type { WhyNotWriter } from '#automations/delegation.ts';
import { namesWorkflow, workflowsNamingForm } from '#automations/store/automation-naming-store.ts';
import type { OtherKinds } from '#automations/transfer/other-kinds.ts';
import type { Clock } from '#base/clock.ts';
import type { LimitReached } from '#base/limits.ts';
import { usableInRuns, whyNotWrittenCall } from '#calls/judge-written-call.ts';
import type { Database } from '#database/database.ts';
import { createFormCatalogue, type FormCatalogue } from '#forms/form-catalogue.ts';
import { createFormStore } from '#forms/form-store.ts';
import { createOtherKinds } from '#forms/other-kinds.ts';
import { withoutPasswords } from '#forms/shown-automations.ts';
import type { RunStore } from '#runs/journal/run-store.ts';
import { createSecretUse, type SecretUse } from '#workflows/catalogue/secret-use.ts';
import { createWorkflowCatalogue, type WorkflowCatalogue } from '#workflows/catalogue/workflow-catalogue.ts';
import { createWorkflowLoader, type WorkflowLoader } from '#workflows/catalogue/workflow-loader.ts';
import { createWorkflowStore, type WorkflowStore } from '#workflows/catalogue/workflow-store.ts';
import { createWritingRight, type WritingRight } from '#workflows/catalogue/writing-right.ts';
import { createReadingThreads } from '#workflows/reading-threads.ts';
import { createSchemaThreads, type SchemaThreads } from '#workflows/schemas/schema-threads.ts';
import type { LiveParts } from './live-parts.ts';

/** Judgements by JSON Schema at once. Each may take all of a processor for a second. */
const schemasAtOnce = 2;

interface OpenCataloguesOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly live: LiveParts;
  readonly runStore: Pick<RunStore, 'isPinned'>;
  readonly rights: Rights;
  readonly limitReached: LimitReached;
}

/** The automations and what they name. Their threads end when the gateway stops. */
export function openCatalogues(
  started: AsyncDisposableStack,
  { database, clock, live, rights, runStore, limitReached }: OpenCataloguesOptions,
): {
  readonly automations: AutomationCatalogue;
  /** The same, by other rights. */
  readonly automationsBy: (rights: Rights) => AutomationCatalogue;
  readonly workflows: WorkflowCatalogue;
  readonly workflowStore: WorkflowStore;
  readonly writing: WritingRight;
  readonly forms: FormCatalogue;
  readonly otherKinds: OtherKinds;
  readonly loader: WorkflowLoader;
  readonly secretUse: SecretUse;
  readonly schemas: SchemaThreads;
} {
  const reading = started.adopt(createReadingThreads(), (threads) => threads.close());
  const schemas = started.adopt(createSchemaThreads({ threads: schemasAtOnce, limitReached }), (threads) => threads.close());
  const store = createWorkflowStore(database, namesWorkflow);
  const writing = createWritingRight({
    store,
    reading,
    rights,
    whyNotCall: (principal, call) => whyNotWrittenCall({ principal, call }, live.customRoles()),
  });
  const loader = createWorkflowLoader({ store, reading });
  const secretUse = createSecretUse({ store, loader, rules: () => live.secrets() });
  const whyNot: WhyNotWriter = (...asked) => writing.whyNot(...asked);
  const workflows = createWorkflowCatalogue({
    store,
    reading,
    adapters: (principal) => usableAdapters(live, principal),
    rights,
    writing,
    secretUse,
    isPinned: (digests) => runStore.isPinned(digests),
    clock,
  });
  const forms = createFormCatalogue({
    store: createFormStore(database, workflowsNamingForm),
    schemas,
    clock,
    whyNotWriter: whyNot,
  });
  const withRights = automationsWith({ database, clock, whyNotWriter: whyNot, secretUse });
  const automationsBy = (by: Rights): AutomationCatalogue => withoutPasswords(withRights(by), forms);
  return {
    automations: automationsBy(rights),
    automationsBy,
    workflows,
    workflowStore: store,
    writing,
    forms,
    otherKinds: createOtherKinds({ forms, workflows, rights }),
    loader,
    secretUse,
    schemas,
  };
}

function automationsWith({
  secretUse,
  ...needs
}: Omit<Parameters<typeof createAutomationCatalogue>[0], 'asksAuthors' | 'refuseAuthor' | 'rights'> & {
  readonly secretUse: SecretUse;
}): (rights: Rights) => AutomationCatalogue {
  return (rights) =>
    createAutomationCatalogue({
      ...needs,
      rights,
      refuseAuthor: (principal, workflow) => secretUse.refuseAuthor(principal, workflow),
      asksAuthors: secretUse.isAsked,
    });
}

function usableAdapters(live: LiveParts, principal: Principal): readonly string[] | undefined {
  const names = live
    .adapters()
    .all()
    .map(({ name }) => name);
  return usableInRuns({ principal, customRoles: live.customRoles(), names });
}
