import type { Migration } from './migration.ts';
import { accessTables } from './migrations/0001-access.ts';
import { automationTables } from './migrations/0002-automations.ts';
import { automationCatalogueTables } from './migrations/0003-automation-catalogue.ts';
import { auditTables } from './migrations/0004-audit.ts';
import { idempotencyKeyTable } from './migrations/0005-idempotency-keys.ts';
import { automationRunFacts } from './migrations/0006-automation-run-facts.ts';
import { runFactTable } from './migrations/0007-run-facts.ts';
import { workflowTable } from './migrations/0008-workflows.ts';
import { runTables } from './migrations/0009-runs.ts';
import { scheduleTables } from './migrations/0010-schedules.ts';
import { formTable } from './migrations/0011-forms.ts';
import { approvalTables } from './migrations/0012-approvals.ts';
import { notificationTables } from './migrations/0013-notifications.ts';
import { plainCatalogue } from './migrations/0014-plain-catalogue.ts';
import { recordTables } from './migrations/0015-records.ts';
import { approvalProofs } from './migrations/0030-approval-proofs.ts';
import { auditApprovals } from './migrations/0031-audit-approvals.ts';
import { workflowDigests } from './migrations/0035-workflow-digests.ts';
import { runPeople } from './migrations/0036-run-people.ts';
import { automationPeople } from './migrations/0040-automation-people.ts';
import { knownPersonTable } from './migrations/0045-known-persons.ts';
import { runLimits } from './migrations/0046-run-limits.ts';
import { lastSkips } from './migrations/0047-last-skips.ts';
import { storeLosses } from './migrations/0052-store-losses.ts';
import { eventsAsFacts } from './migrations/0060-packed-events.ts';
import { auditTerms } from './migrations/0063-audit-terms.ts';
import { auditBodies } from './migrations/0064-audit-bodies.ts';
import { keptRuns } from './migrations/0065-kept-runs.ts';
import { automationHistory } from './migrations/0068-automation-history.ts';
import { rollups } from './migrations/0069-rollups.ts';
import { taskData } from './migrations/0072-task-data.ts';
import { batches } from './migrations/0073-batches.ts';
import { repeatedItems } from './migrations/0075-repeated-items.ts';
import { batchApprovals } from './migrations/0076-batch-approvals.ts';
import { longRollups } from './migrations/0081-long-rollups.ts';
import { rollupsByKey } from './migrations/0082-rollups-by-key.ts';
import { agentTasks } from './migrations/0085-agent-tasks.ts';
import { packedRollups } from './migrations/0086-packed-rollups.ts';
import { storeRestores } from './migrations/0088-store-restores.ts';
import { catalogueVersions } from './migrations/0089-catalogue-versions.ts';
import { recordVersions } from './migrations/0090-record-versions.ts';

/** Every migration, in order, of every part of the store. A published one never changes: add the next number. */
export const migrations: readonly Migration[] = [
  accessTables,
  automationTables,
  automationCatalogueTables,
  auditTables,
  idempotencyKeyTable,
  automationRunFacts,
  runFactTable,
  workflowTable,
  runTables,
  scheduleTables,
  formTable,
  approvalTables,
  notificationTables,
  plainCatalogue,
  recordTables,
  approvalProofs,
  auditApprovals,
  workflowDigests,
  runPeople,
  automationPeople,
  knownPersonTable,
  runLimits,
  lastSkips,
  storeLosses,
  eventsAsFacts,
  auditTerms,
  auditBodies,
  keptRuns,
  automationHistory,
  rollups,
  taskData,
  batches,
  repeatedItems,
  batchApprovals,
  longRollups,
  rollupsByKey,
  agentTasks,
  packedRollups,
  storeRestores,
  catalogueVersions,
  recordVersions,
];
