import type { Access } from '#access/access.ts';
import type { InvolvedPrincipal } from '#access/people.ts';
import type { Principal } from '#access/principal.ts';
import type { Rights } from '#access/rights/rights.ts';
import type { DryRunFormat } from '#adapters/dry-runs.ts';
import type { Approval, StoredPreview } from '#approvals/approval.ts';
import { type ApprovalCatalogue, createApprovalCatalogue } from '#approvals/approval-catalogue.ts';
import { expiryFacts, withdrawalFacts } from '#approvals/approval-events.ts';
import { everyApproval } from '#approvals/approval-facts.ts';
import { createApprovalGate } from '#approvals/approval-gate.ts';
import { previewOfApproval } from '#approvals/approval-preview.ts';
import type { ProofKey } from '#approvals/approval-proof.ts';
import type { StandingNeeds } from '#approvals/approval-standing.ts';
import { type ApprovalStore, createApprovalStore } from '#approvals/approval-store.ts';
import { createApprovalTasks } from '#approvals/approval-tasks.ts';
import { type ApprovalUpkeep, keepApprovals } from '#approvals/approval-upkeep.ts';
import { createBatchItems } from '#approvals/batches/batch-items.ts';
import type { ApprovalProofs } from '#audit/approval-proofs.ts';
import type { AuditLog } from '#audit/audit-log.ts';
import type { Automation } from '#automations/automation.ts';
import type { Clock } from '#base/clock.ts';
import type { LimitReached } from '#base/limits.ts';
import type { Log } from '#base/log.ts';
import type { ApprovalGate } from '#calls/approval-check.ts';
import type { Config } from '#config/config.ts';
import type { Database } from '#database/database.ts';
import type { RequireRoom } from '#database/sqlite/reserve.ts';
import type { TakePreview } from '#previews/preview.ts';
import { seesRun } from '#runs/catalogue/run-access.ts';
import type { RunStore } from '#runs/journal/run-store.ts';
import type { RunPeople } from '#runs/people/run-people.ts';
import type { ApprovalTasks } from '#runs/tasks/approval-task.ts';

interface OpenApprovalsOptions {
  readonly config: Config;
  readonly database: Database;
  readonly runStore: RunStore;
  readonly people: Pick<RunPeople, 'involved' | 'standing'>;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly rights: Rights;
  readonly log: Log;
  readonly access: Pick<Access, 'principalNow' | 'isGone' | 'persons' | 'knownPrincipals'>;
  readonly proofKey: ProofKey;
  readonly proofs: ApprovalProofs;
  /** The rules in force. */
  readonly approvalRules: StandingNeeds['rules'];
  /** In front of the path of an approval. */
  readonly base: string;
  readonly limitReached: LimitReached;
  readonly requireRoom: RequireRoom;
  readonly preview: TakePreview;
  readonly automation: (id: string) => Promise<Automation | undefined>;
  /** What readers see of a JSON text of this run. */
  readonly maskOf: (run: string) => Promise<(jsonText: string) => string>;
}

export interface Approvals {
  readonly gate: ApprovalGate;
  readonly tasks: ApprovalTasks;
  readonly catalogue: ApprovalCatalogue;
  /** The same, by other rights. */
  readonly catalogueBy: (rights: Rights) => ApprovalCatalogue;
  readonly upkeep: ApprovalUpkeep;
  readonly endAllIn: ApprovalStore['endAllIn'];
  /** Ends an approval that nothing waits for any more. */
  readonly end: (id: string) => Promise<void>;
}

/** The approvals of calls and of tasks. */
export function openApprovals(started: AsyncDisposableStack, options: OpenApprovalsOptions): Approvals {
  const { config, database, runStore, audit, clock, rights, log, base, preview: ask, access } = options;
  const { limitReached, requireRoom, proofKey: key, approvalRules: rules } = options;
  const proofs: StandingNeeds['proofs'] = (approval) => options.proofs.of([approval]);
  const proving = { clock, key, proofs };
  const needs = {
    ...proving,
    ...access,
    limitReached,
    requireRoom,
    rules,
    ...createBatchItems((batch, page) => runStore.items(batch, page), options.maskOf),
    store: createApprovalStore({
      ...proving,
      database,
      changeRuns: runStore.changeWith,
      audit,
      expired(approvals) {
        for (const approval of approvals) audit.record(expiryFacts(approval));
      },
      withdrawn: (approval, decision) => audit.record(withdrawalFacts(approval, decision)),
    }),
  };
  const takePreview = async (approval: Approval, asker?: Principal, format?: DryRunFormat): Promise<StoredPreview> => {
    const preview = await previewOfApproval(approval, { preview: ask, peopleOf: peopleOfRun(options), clock, asker, format });
    await needs.store.savePreview(approval.id, preview);
    return preview;
  };
  const forgetting = (before: number) => audit.prove([{ approval: everyApproval, of: 'forgotten', before }]);
  // As long as their records.
  const { retention } = config.audit;
  const upkeep = started.adopt(keepApprovals({ ...needs, log, retention, forgetting }), (kept) => kept.stop());
  const catalogueBy = (by: Rights): ApprovalCatalogue =>
    createApprovalCatalogue({
      ...needs,
      rights: by,
      takePreview,
      known: access.knownPrincipals,
      involvedNow: involvedIn(options),
      async seesRun(principal, { principal: { id: owner }, task }) {
        const { automation, workflow } = task?.of ?? {};
        const asked = { principal, operation: 'readRun' } as const;
        if (seesRun(by, asked, { owner, workflow, automation: undefined })) return true;
        if (automation === undefined) return false;
        return seesRun(by, asked, { owner, workflow, automation: await options.automation(automation.id) });
      },
    });
  return {
    gate: createApprovalGate({
      ...needs,
      base,
      takePreview: (approval) => void takePreview(approval).catch(() => undefined),
    }),
    tasks: createApprovalTasks(needs),
    catalogue: catalogueBy(rights),
    catalogueBy,
    upkeep,
    endAllIn: (transaction) => needs.store.endAllIn(transaction),
    end: (id) => needs.store.expire({ ids: [id] }),
  };
}

/** Who answers for a run; none where one of them is gone. */
function peopleOfRun({ runStore, people }: Pick<OpenApprovalsOptions, 'people' | 'runStore'>) {
  return async (id: string) => {
    const run = await runStore.summary(id);
    const standing = run && (await people.standing(run));
    return standing && { answerable: 'by' in standing ? [] : standing.answerable, owner: run.owner };
  };
}

/** Everybody involved in the run that asks. */
function involvedIn({ runStore, people }: Pick<OpenApprovalsOptions, 'people' | 'runStore'>) {
  return async ({ task }: Approval): Promise<readonly InvolvedPrincipal[]> => {
    const run = task && (await runStore.summary(task.run));
    return run === undefined ? [] : await people.involved(run);
  };
}
