/** The tables of agents: part `records` of the store. */
export interface AgentTables {
  readonly agent_task: AgentTaskTable;
}

/** A call of an agent that waits for people. Times are milliseconds since the epoch. */
interface AgentTaskTable {
  /** The id of the approval that it waited for first. */
  readonly id: string;
  /** JSON text: the principal as it was when it asked. */
  readonly principal: string;
  /** The id by which the token of the request can be revoked. */
  readonly token: string | null;
  readonly tool: string;
  /** JSON text with the exact arguments. Null once the task has ended, or its caller has taken it back. */
  readonly arguments: string | null;
  /** JSON text: the program of the client. */
  readonly client: string;
  /** The approval that it waits for now. */
  readonly approval: string;
  readonly status: 'working' | 'completed' | 'cancelled';
  /** JSON text: what the tool answered. While the task works: set once its call may have left. */
  readonly result: string | null;
  readonly created_at: number;
  readonly changed_at: number;
  /** A gateway works on it until then. */
  readonly leased_until: number;
  /** The lowest version that may act on it (row-version.ts). */
  readonly lowest: number;
}
