import type { SecretRule } from '#access/secret-rule.ts';
import type { Secret } from '#base/secret.ts';

/** A secret of workflows: its value, and what the operator allows of it. */
export interface SealedSecret extends SecretRule {
  readonly value: Secret;
}

/** By name: `automations.secrets` of the configuration. */
export type SealedSecrets = Readonly<Record<string, SealedSecret>>;

/** A run, as far as its secrets need it. */
export interface SecretUser {
  /** Of the run: expressions and readers never see it. */
  readonly seed: string;
  /** The id of the workflow. */
  readonly workflow: string;
  /** What the document lists in `use.secrets`. */
  readonly names: readonly string[];
}
