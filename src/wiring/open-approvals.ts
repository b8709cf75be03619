import type { Rights } from '#access/rights.ts';
import type { DryRunFormat } from '#adapters/dry-runs.ts';
import type { Approval, StoredPreview } from '#approvals/approval.ts';
import { type ApprovalCatalogue, createApprovalCatalogue } from '#approvals/approval-catalogue.ts';
import { expiryFacts } from '#approvals/approval-events.ts';
import { createApprovalGate } from '#approvals/approval-gate.ts';
import { previewOfApproval } from '#approvals/approval-preview.ts';
import { createApprovalStore } from '#approvals/approval-store.ts';
import { createApprovalTasks } from '#approvals/approval-tasks.ts';
import { keepApprovals } from '#approvals/approval-upkeep.ts';
import type { AuditLog } from '#audit/audit-log.ts';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import type { ApprovalGate } from '#calls/approval-gate.ts';
import type { Config } from '#config/config.ts';
import type { Database } from '#database/database.ts';
import type { TakePreview } from '#previews/preview.ts';
import type { RunStore } from '#runs/run-store.ts';
import type { ApprovalTasks } from '#runs/tasks/approval-task.ts';

interface OpenApprovalsOptions {
  readonly config: Config;
  readonly database: Database;
  readonly runStore: RunStore;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly rights: Rights;
  readonly log: Log;
  /** In front of the path of an approval. */
  readonly base: string;
  readonly preview: TakePreview;
}

export interface Approvals {
  readonly gate: ApprovalGate;
  readonly tasks: ApprovalTasks;
  readonly catalogue: ApprovalCatalogue;
}

/** The approvals of calls and of tasks. */
export function openApprovals(started: AsyncDisposableStack, options: OpenApprovalsOptions): Approvals {
  const { config, database, runStore, audit, clock, rights, log, base, preview: ask } = options;
  const store = createApprovalStore({
    database,
    changeRuns: runStore.changeWith,
    clock,
    expired(approvals) {
      for (const approval of approvals) audit.record(expiryFacts(approval));
    },
  });
  const takePreview = async (approval: Approval, format?: DryRunFormat): Promise<StoredPreview> => {
    const delegatedOf = async (run: string) => (await runStore.summary(run))?.delegated;
    const preview = await previewOfApproval(approval, { preview: ask, delegatedOf, clock, format });
    await store.savePreview(approval.id, preview);
    return preview;
  };
  const { retention } = config.automations;
  started.adopt(keepApprovals({ store, clock, log, retention }), (upkeep) => upkeep.stop());
  return {
    gate: createApprovalGate({
      store,
      clock,
      dialect: database.dialect,
      base,
      takePreview: (approval) => void takePreview(approval).catch(() => undefined),
    }),
    tasks: createApprovalTasks({ store, clock }),
    catalogue: createApprovalCatalogue({ store, clock, rights, takePreview }),
  };
}
