/** Who makes a call, as the orchestrator knows that person. */
export interface CallerIdentity {
  /** At the orchestrator. */
  readonly name: string;
  /** Of the orchestrator. */
  readonly groups: readonly string[];
  /** The id of the run that makes the call. */
  readonly run?: string | undefined;
  readonly approval?: string | undefined;
}

/** How an assertion travels. */
export type Carrier = 'token' | 'basic' | 'bearer';
