import { type Approvers, isApprover } from './approval-options.ts';
import type { Principal } from './principal.ts';
import { matchesWorkflow } from './workflow-globs.ts';

/** What the operator allows of a secret of workflows. Its value is elsewhere. */
export interface SecretRule {
  /** Globs of the ids of workflows that may use it. */
  readonly workflows: readonly string[];
  /** Who may store what uses it, and be author of an automation that runs that. */
  readonly writers: Approvers;
  /** Addresses, with a path prefix, whose calls may carry it. */
  readonly destinations: readonly string[];
  /** Adapter instances whose calls may carry it. */
  readonly adapters: readonly string[];
  /** Parts of a call that may carry it: `authentication`, `query`, `path`, `body`, or `header:` and the name of the header in lower case. */
  readonly places: readonly string[];
}

/** The rules of now, by the names of their secrets. */
export type SecretRules = () => Readonly<Record<string, SecretRule>>;

/** Why the workflow may not use the secret, in words that follow "the secret NAME"; undefined where it may. */
export function whyNotForWorkflow(rule: SecretRule, workflow: string): string | undefined {
  return matchesWorkflow(rule.workflows, workflow) ? undefined : `is not for the workflow ${workflow}`;
}

/** Why a person may not write what uses the secret, in words that follow "the secret NAME"; undefined where the person may. */
export function whyNotByWriter(rule: SecretRule, person: Pick<Principal, 'username' | 'roles' | 'groups'>): string | undefined {
  return isApprover(person, rule.writers) ? undefined : `does not have ${person.username} among its writers`;
}
