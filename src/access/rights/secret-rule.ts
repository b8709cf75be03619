import type { Principal } from '../principal.ts';
import { type Approvers, isApprover } from './approval-options.ts';
import { matchesWorkflow } from './rights.ts';

/** What the operator allows of a secret; its value is elsewhere. */
export interface SecretRule {
  /** Globs of workflow ids. */
  readonly workflows: readonly string[];
  /** Who may store what uses it, and be author of an automation that runs that. */
  readonly writers: Approvers;
  /** Addresses with a path prefix. */
  readonly destinations: readonly string[];
  /** Adapter instances. */
  readonly adapters: readonly string[];
  /** Parts of a call: `authentication`, `query`, `path`, `body`, or `header:` and the name in lower case. */
  readonly places: readonly string[];
}

export type SecretRules = () => Readonly<Record<string, SecretRule>>;

/** Completes "the secret NAME"; undefined: the workflow may use it. */
export function whyNotForWorkflow(rule: SecretRule, workflow: string): string | undefined {
  return matchesWorkflow(rule.workflows, workflow) ? undefined : `is not for the workflow ${workflow}`;
}

/** Completes "the secret NAME"; undefined: the person may write what uses it. */
export function whyNotByWriter(rule: SecretRule, person: Pick<Principal, 'username' | 'roles' | 'groups'>): string | undefined {
  return isApprover(person, rule.writers) ? undefined : `does not have ${person.username} among its writers`;
}
