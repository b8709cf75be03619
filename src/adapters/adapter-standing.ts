import type { NodeError } from './node-standing.ts';

/** `degraded`: some nodes are offline; `offline`: all nodes are. */
export type AdapterState = 'online' | 'degraded' | 'offline';

export interface AdapterStanding {
  readonly state: AdapterState;
  /** Milliseconds since the epoch at which this state began. */
  readonly since: number;
  /** The most recent error of all nodes. */
  readonly lastError: NodeError | undefined;
}
