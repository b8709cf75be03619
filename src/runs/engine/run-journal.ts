import type { QueuedCommand, RunCommand, RunWrite } from '../journal/run-records.ts';

/** The part of the store that the holder of a run uses. */
export interface RunJournal {
  /** `lost`: another holder has the run, and nothing was written. */
  save(write: RunWrite): Promise<'saved' | 'lost'>;
  /** To the holder that the run has now, or gets. A second one with the key is dropped. */
  command(run: string, command: RunCommand, key: string): Promise<boolean>;
  commandsOf(runs: readonly string[]): Promise<readonly QueuedCommand[]>;
}
