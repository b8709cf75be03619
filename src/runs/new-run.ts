import { randomBytes } from 'node:crypto';
import type { Principal, Role } from '#access/principal.ts';
import type { Automation } from '#automations/automation.ts';
import type { Workflow } from '#workflows/workflow.ts';
import type { NewRun, StartedBy } from './run-records.ts';

interface AutomationRun {
  readonly id: string;
  readonly principal: Principal;
  readonly startedBy: StartedBy;
  readonly automation: Automation;
  readonly workflow: Workflow;
  readonly writtenAs: Role;
  /** JSON text. */
  readonly input: string;
}

/** A run of an automation. Its calls are decided by the role of the workflow's writer. */
export function runOf({ id, principal, startedBy, automation, workflow, writtenAs, input }: AutomationRun): NewRun {
  return {
    id,
    automation: { id: automation._id, name: automation.name },
    workflow: workflow.id,
    version: workflow.version,
    input,
    seed: randomBytes(16).toString('base64url'),
    principal,
    delegated: [writtenAs],
    startedBy,
    parent: undefined,
  };
}
