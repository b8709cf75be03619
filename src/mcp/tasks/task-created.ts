/** A task as the extension for tasks of MCP describes it (SEP-2663). Times are ISO 8601. */
export interface AgentTask {
  readonly taskId: string;
  readonly status: 'working' | 'completed' | 'cancelled';
  readonly statusMessage: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** Milliseconds from its creation. Null: as long as it works. */
  readonly ttlMs: number | null;
  readonly pollIntervalMs: number;
  /** Of the call, once it is completed. */
  readonly result?: Readonly<Record<string, unknown>>;
  readonly [member: string]: unknown;
}

/** Milliseconds. */
export const pollInterval = 2_000;

/** In place of the result of a tool: the store has the task. */
export class TaskCreated extends Error {
  readonly task: AgentTask;

  constructor(task: AgentTask) {
    super('the call goes on as a task');
    this.name = 'TaskCreated';
    this.task = task;
  }
}
