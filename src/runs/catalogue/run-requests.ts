import { createHash } from 'node:crypto';
import type { Principal } from '#access/principal.ts';
import type { Rights } from '#access/rights/rights.ts';
import type { AuditFacts } from '#audit/audit-entry.ts';
import type { AuditReader } from '#audit/audit-reader.ts';
import type { Intended } from '#audit/calls/audit-calls.ts';
import type { Automation } from '#automations/automation.ts';
import type { PeopleOfRun } from '#automations/automation-people.ts';
import type { Clock } from '#base/clock.ts';
import type { RequestProblem } from '#base/gateway-error.ts';
import { uuidVersion8 } from '#base/text/uuid.ts';
import type { reachedWorkflows } from '#workflows/catalogue/workflow-pins.ts';
import type { ExpressionPool } from '#workflows/jq/expression-pool.ts';
import type { Workflow } from '#workflows/workflow.ts';
import type { ItemSums } from '../journal/batches/batch-records.ts';
import type { StoredRun } from '../journal/run-records.ts';
import type { RunStore } from '../journal/run-store.ts';
import type { RunPeople } from '../people/run-people.ts';
import type { Mask } from '../secrets/mask.ts';
import type { SecretValues } from '../secrets/secret-values.ts';
import type { IsReadAction } from '../tasks/arguments.ts';
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
  /** As of the run: milliseconds since the epoch. */
  readonly notBefore?: number | undefined;
  readonly key?: string | undefined;
  /** See `NewRun`. */
  readonly entrance?: 'mcp' | undefined;
}

/** Input and version are those of the earlier run where they are absent. */
export interface RerunRequest extends RunRequest, Pick<StartRequest, 'input' | 'version' | 'key'> {
  /** Of its batches, only items that failed, were cancelled or did not start. Without `input`. */
  readonly items?: 'failed' | undefined;
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

/** Puts the request that decides about the run on record. Resolves once that is on disk; a decision must not count where it rejects. */
export type IntendDecision = (about: Pick<StoredRun, 'automation' | 'id'>) => Promise<void>;

/** `items`: of its batches; undefined where it has none. `shown`: its input and output as readers see them. */
export type WholeRun = StoredRun & { readonly items?: ItemSums | undefined; readonly shown: Mask };

export interface StartedRun {
  readonly run: WholeRun;
  /** An earlier request with the Idempotency-Key started the run. */
  readonly replayed: boolean;
  /** Sentences. */
  readonly warnings?: readonly string[] | undefined;
}

export interface FoundAutomation {
  readonly automation: Automation;
  readonly input: string | undefined;
  readonly people: PeopleOfRun;
  /** See `NewRun`. */
  readonly passwordFields: readonly string[];
  /** The lowest version that may run it, by the automation and its form. Absent: every version. */
  readonly lowest?: number | undefined;
}

export interface RunCatalogueNeeds {
  readonly store: RunStore;
  readonly quota: StoreQuota;
  readonly clock: Clock;
  /** Milliseconds for which runs that have ended are kept. */
  readonly retention: number;
  readonly rights: Rights;
  readonly records: Pick<AuditReader, 'list'>;
  /** Puts a decision of people about an item of a batch on record before it counts. */
  readonly intendDecision: (facts: AuditFacts & { readonly event: 'decided' }) => Promise<Pick<Intended, 'outcome'>>;
  /** The automation, with its own input as JSON text and the people behind it, for anybody. */
  readonly automation: (id: string) => Promise<FoundAutomation | undefined>;
  /** `_id` of the automation with exactly this name, for anybody. */
  readonly automationNamed: (name: string) => Promise<string | undefined>;
  /** Undefined where the store does not have the version, or has other bytes than those of the digest. */
  readonly workflow: (wanted: {
    readonly id: string;
    readonly version: string;
    readonly digest: string | undefined;
  }) => Promise<{ readonly workflow: Workflow } | undefined>;
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
  /** For the call of a task whose outcome is unknown. */
  readonly expressions: Pick<ExpressionPool, 'evaluate'>;
  readonly secrets: Pick<SecretValues, 'mask' | 'ofRun'>;
  readonly isReadAction: IsReadAction;
  readonly seesApproval: (principal: Principal, id: string) => Promise<boolean>;
}

/** Whether a run can have this id: not every store takes every text. */
export function isRunId(text: string): boolean {
  return /^[\w.:-]{1,1000}$/u.test(text);
}

/** The id of the run that a request with an Idempotency-Key starts: the same for each repetition of the request. */
export function runIdOfKey({ caller, automation, key }: { caller: string; automation: string; key: string }): string {
  const digest = createHash('sha256')
    .update(JSON.stringify(['run', caller, automation, key]))
    .digest();
  return uuidVersion8(digest.subarray(0, 16));
}
