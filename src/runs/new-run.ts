import { randomBytes } from 'node:crypto';
import type { InvolvedPrincipal } from '#access/people.ts';
import type { Principal } from '#access/principal.ts';
import type { Automation } from '#automations/automation.ts';
import type { PeopleOfRun } from '#automations/automation-people.ts';
import type { ReachedWorkflow } from '#workflows/workflow-pins.ts';
import { involvedAtStart } from './involved-people.ts';
import type { NewRun, StartedBy } from './run-records.ts';

/** What the outermost run of an automation is made of. */
export interface AutomationRun {
  readonly id: string;
  readonly principal: Principal;
  readonly startedBy: StartedBy;
  readonly automation: Automation;
  readonly people: PeopleOfRun;
  /** The document that it runs, and all that it reaches. */
  readonly documents: readonly [ReachedWorkflow, ...ReachedWorkflow[]];
  /** JSON text. */
  readonly input: string;
  /** Of a repetition: who was involved in the run before. */
  readonly repeated?: readonly InvolvedPrincipal[];
}

/** A run of an automation, which pins its documents. */
export function runOf({ id, principal, startedBy, automation, people, documents, input, repeated = [] }: AutomationRun): NewRun {
  const pins = documents.map(({ pin }) => pin);
  const [{ pin }] = documents;
  return {
    id,
    automation: { id: automation._id, name: automation.name },
    workflow: pin.id,
    version: pin.version,
    input,
    seed: randomBytes(16).toString('base64url'),
    principal,
    workflowDigest: pin.digest,
    pins,
    above: [],
    authors: people.authors.map(({ id: author, username }) => ({ id: author, username })),
    involved: involvedAtStart({ principal, startedBy, people, pins, repeated }),
    startedBy,
    parent: undefined,
  };
}

/** The version that runs of the automation take; undefined: the newest release. */
export function pinnedVersion({ data }: Automation): string | undefined {
  return data?.workflowVersion;
}
