/**
 * `people`: somebody suspended the run. `unknown-outcome`: people have to decide about a call. `delegation-lost`: somebody who answers for its
 * calls is gone or may not make them. `person-gone`: the one in whose name it calls is gone.
 */
export const suspensionReasons = ['people', 'unknown-outcome', 'delegation-lost', 'person-gone'] as const;

export type SuspensionReason = (typeof suspensionReasons)[number];

/** Why the gateway itself holds a run. */
export type HoldReason = Extract<SuspensionReason, 'delegation-lost' | 'person-gone'>;
