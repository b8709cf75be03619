import type { QueuedCommand, RunWrite } from './run-records.ts';

/** The part of the store that the holder of a run uses. */
export interface RunJournal {
  /** `lost`: another holder has the run, and nothing was written. */
  save(write: RunWrite): Promise<'saved' | 'lost'>;
  commandsOf(runs: readonly string[]): Promise<readonly QueuedCommand[]>;
}
