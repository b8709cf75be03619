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
import type { RunPeople } from '#runs/run-people.ts';
import type { RunStore } from '#runs/run-store.ts';
import type { ApprovalTasks } from '#runs/tasks/approval-task.ts';

interface OpenApprovalsOptions {
  readonly config: Config;
  readonly database: Database;
  readonly runStore: RunStore;
  readonly people: Pick<RunPeople, 'standing'>;
  readonly audit: AuditLog;
  readonly clock: Clock;
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
  const { config, database, runStore, people, audit, clock, log, base, preview: ask } = options;
  const store = createApprovalStore({
    database,
    changeRuns: runStore.changeWith,
    clock,
    expired(approvals) {
      for (const approval of approvals) audit.record(expiryFacts(approval));
    },
  });
  const takePreview = async (approval: Approval, format?: DryRunFormat): Promise<StoredPreview> => {
    const answerableOf = async (id: string) => {
      const run = await runStore.summary(id);
      const standing = run && (await people.standing(run));
      return standing && ('by' in standing ? [] : standing.answerable);
    };
    const preview = await previewOfApproval(approval, { preview: ask, answerableOf, clock, format });
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
    catalogue: createApprovalCatalogue({ store, clock, takePreview }),
  };
}
