import type { RunStatus } from '../interpreter/state/run-state.ts';
import type { EventRecord, StoredRun } from './run-records.ts';

/** Who reads: the principal's id, and the groups of its role. */
export interface RunViewer {
  readonly principal: string;
  readonly groups: readonly string[];
}

/** Which runs. Every member that is set must hold. Times are milliseconds since the epoch. */
export interface RunFilter {
  /** `_id` of the automation. */
  readonly automation?: string | undefined;
  readonly workflow?: string | undefined;
  readonly status?: RunStatus | undefined;
  /** Username of the run's principal. */
  readonly username?: string | undefined;
  /** Created then or later. */
  readonly since?: number | undefined;
  /** Created before. */
  readonly until?: number | undefined;
  readonly parent?: string | undefined;
  /** Absent: without runs of batches. With `parent` they are there in any case. */
  readonly children?: true | undefined;
  /**
   * Runs of automations that the viewer may see, and its own runs. A run whose automation was deleted is visible to its own principal alone.
   * Undefined: every run.
   */
  readonly visibleTo?: RunViewer | undefined;
}

/** A run without the texts that may be long. */
export type StoredRunSummary = Omit<StoredRun, 'input' | 'output'>;

/** The place of a run in a list: the next page begins after it. */
export type RunPosition = Pick<StoredRun, 'createdAt' | 'id'>;

export interface EventLogFilter {
  readonly kind?: EventRecord['kind'] | undefined;
  readonly automation?: string | undefined;
  /** As of `RunFilter`. An event that no run emitted is not visible to such a viewer. */
  readonly visibleTo?: RunViewer | undefined;
}

export interface RunCounts {
  /** Runs that have not ended. A status without runs is absent. */
  readonly byStatus: ReadonlyMap<RunStatus, number>;
  /** Milliseconds that the run which waits longest for a gateway has waited. */
  readonly lateness: number;
}
