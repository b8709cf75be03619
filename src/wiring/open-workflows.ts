import { namesWorkflow } from '#automations/automation-workflow-store.ts';
import type { Clock } from '#base/clock.ts';
import type { Database } from '#database/database.ts';
import { createReadingThreads } from '#workflows/reading-threads.ts';
import { createWorkflowCatalogue, type WorkflowCatalogue } from '#workflows/workflow-catalogue.ts';
import { createWorkflowStore } from '#workflows/workflow-store.ts';
import type { LiveParts } from './live-parts.ts';

/** The catalogue of workflows. Its threads end when the gateway stops. */
export function openWorkflows(
  started: AsyncDisposableStack,
  { database, clock, live }: { readonly database: Database; readonly clock: Clock; readonly live: LiveParts },
): WorkflowCatalogue {
  const reading = started.adopt(createReadingThreads(), (threads) => threads.close());
  const adapters = (): readonly string[] => [...live.adapters().all()].map(({ name }) => name);
  return createWorkflowCatalogue({ store: createWorkflowStore(database, namesWorkflow), reading, adapters, clock });
}
