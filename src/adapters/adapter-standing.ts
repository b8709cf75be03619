import type { NodeError } from './node-standing.ts';

/** `degraded`: some of its addresses are offline; `offline`: all of them. */
export type AdapterState = 'online' | 'degraded' | 'offline';

export interface AdapterStanding {
  readonly state: AdapterState;
  /** Milliseconds since the epoch: when it came into this state. */
  readonly since: number;
  /** The latest of its nodes. */
  readonly lastError: NodeError | undefined;
}
