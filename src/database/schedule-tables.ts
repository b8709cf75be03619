/** The tables of schedules: part `records` of the store. */
export interface ScheduleTables {
  readonly occurrence: OccurrenceTable;
  readonly scheduled_run: ScheduledRunTable;
}

/** A due time of an automation that was decided. */
interface OccurrenceTable {
  /** As `automation.id`. */
  readonly automation_id: Uint8Array;
  readonly due: number;
  /** Null: it was skipped. */
  readonly run_id: string | null;
  readonly decided_at: number;
}

/** The run that the schedule of an automation began last. A transaction that decides about the automation locks this row first. */
interface ScheduledRunTable {
  readonly automation_id: Uint8Array;
  readonly run_id: string | null;
}
