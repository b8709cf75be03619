import type { NodeError, NodeState } from './node-standing.ts';

/** As of a node. `degraded` also if some nodes are offline; `offline` if all are. */
export type AdapterState = NodeState;

export interface AdapterStanding {
  readonly state: AdapterState;
  /** Milliseconds since the epoch at which this state began. */
  readonly since: number;
  /** The most recent error of all nodes. */
  readonly lastError: NodeError | undefined;
}
