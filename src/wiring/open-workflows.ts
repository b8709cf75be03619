import { namesForm, namesWorkflow } from '#automations/automation-naming-store.ts';
import type { Clock } from '#base/clock.ts';
import type { Database } from '#database/database.ts';
import { createFormCatalogue, type FormCatalogue } from '#forms/form-catalogue.ts';
import { createFormStore } from '#forms/form-store.ts';
import { createReadingThreads } from '#workflows/reading-threads.ts';
import { createSchemaThreads } from '#workflows/schema-threads.ts';
import { createWorkflowCatalogue, type WorkflowCatalogue } from '#workflows/workflow-catalogue.ts';
import { createWorkflowStore } from '#workflows/workflow-store.ts';
import type { LiveParts } from './live-parts.ts';

/** Judgements by JSON Schema at once. Each may take all of a processor for a second. */
const schemasAtOnce = 2;

interface OpenWorkflowsOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly live: LiveParts;
}

/** The catalogues of what automations name. Their threads end when the gateway stops. */
export function openWorkflows(
  started: AsyncDisposableStack,
  { database, clock, live }: OpenWorkflowsOptions,
): { readonly workflows: WorkflowCatalogue; readonly forms: FormCatalogue } {
  const reading = started.adopt(createReadingThreads(), (threads) => threads.close());
  const schemas = started.adopt(createSchemaThreads({ threads: schemasAtOnce }), (threads) => threads.close());
  const adapters = (): readonly string[] => [...live.adapters().all()].map(({ name }) => name);
  return {
    workflows: createWorkflowCatalogue({ store: createWorkflowStore(database, namesWorkflow), reading, adapters, clock }),
    forms: createFormCatalogue({ store: createFormStore(database, namesForm), schemas, clock }),
  };
}
