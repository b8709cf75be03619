import type { Principal } from '#access/principal.ts';
import type { Rights } from '#access/rights.ts';
import type { AuditReader } from '#audit/audit-reader.ts';
import type { Automation } from '#automations/automation.ts';
import type { PeopleOfRun } from '#automations/automation-people.ts';
import type { Clock } from '#base/clock.ts';
import type { RequestProblem } from '#base/gateway-error.ts';
import type { Workflow } from '#workflows/workflow.ts';
import type { reachedWorkflows } from '#workflows/workflow-pins.ts';
import type { RunPeople } from './run-people.ts';
import type { StoredRun } from './run-records.ts';
import type { RunStore } from './run-store.ts';
import type { StoreQuota } from './store-quota.ts';

export interface RunRequest {
  readonly principal: Principal;
  /** Of the run. */
  readonly id: string;
}

export interface StartRequest {
  readonly principal: Principal;
  /** `_id` of the automation. */
  readonly automation: string;
  /** JSON text; absent: the automation's own input. */
  readonly input?: string | undefined;
  /** Of the workflow. Absent: the one that the automation names, else the newest release. */
  readonly version?: string | undefined;
  /** The Idempotency-Key. */
  readonly key?: string | undefined;
}

/** A new run of the automation of an earlier one. */
export interface RerunRequest extends RunRequest {
  /** JSON text; absent: that of the earlier run. */
  readonly input?: string | undefined;
  /** Absent: that of the earlier run. */
  readonly version?: string | undefined;
  readonly key?: string | undefined;
}

/** What people found out about a call whose outcome is unknown. */
export interface RunDecision {
  /** The `id` of a task, or its reference where only one call there is unknown. */
  readonly task: string;
  readonly as: 'done' | 'failed' | 'again';
  /** JSON text. */
  readonly output?: string | undefined;
  readonly reason: string;
}

/** `replayed`: an earlier request with the Idempotency-Key started the run. */
export interface StartedRun {
  readonly run: StoredRun;
  readonly replayed: boolean;
}

export interface FoundAutomation {
  readonly automation: Automation;
  readonly input: string | undefined;
  readonly people: PeopleOfRun;
}

/** The parts that the runs are made from. */
export interface RunCatalogueNeeds {
  readonly store: RunStore;
  readonly quota: StoreQuota;
  readonly clock: Clock;
  readonly rights: Rights;
  /** The audit log, which has the calls of runs. */
  readonly records: Pick<AuditReader, 'list'>;
  /** The automation, with its own input as JSON text and the people behind it, for anybody. */
  readonly automation: (id: string) => Promise<FoundAutomation | undefined>;
  /** A version of a workflow; undefined where the store does not have it, or has other bytes than those of the digest. */
  readonly workflow: (wanted: {
    readonly id: string;
    readonly version: string;
    readonly digest: string | undefined;
  }) => Promise<{ readonly workflow: Workflow } | undefined>;
  /** See `reachedWorkflows`. */
  readonly reached: (name: Parameters<typeof reachedWorkflows>[1]) => ReturnType<typeof reachedWorkflows>;
  /** Why the principal may not write the workflow, in words that complete "writing it …". */
  readonly whyNotWriter: (principal: Principal, workflow: string) => Promise<string | undefined>;
  readonly people: RunPeople;
  /** What in an input does not satisfy the form of the automation, or the schema of the workflow. */
  readonly inputProblems: (given: {
    readonly automation: Automation;
    readonly workflow: Workflow;
    readonly input: string;
    readonly person: string;
  }) => Promise<readonly RequestProblem[]>;
  /** Whether the principal may see the approval with this id. */
  readonly seesApproval: (principal: Principal, id: string) => Promise<boolean>;
}
