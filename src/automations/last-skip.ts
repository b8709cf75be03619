/** Why a due time of an automation began no run. */
export const skipCodes = [
  'running',
  'suspended',
  'workflow-missing',
  'input-invalid',
  'delegation-lost',
  'person-not-seen',
  'person-gone',
  'quota-reached',
] as const;

export type SkipCode = (typeof skipCodes)[number];

/** The due time that was skipped last. */
export interface LastSkip {
  /** ISO 8601. */
  readonly due: string;
  readonly code: SkipCode;
  /** A sentence. */
  readonly reason: string;
}
