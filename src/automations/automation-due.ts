import type { Transaction } from 'kysely';
import type { Tables } from '#database/tables.ts';
import type { Automation } from './automation.ts';
import type { OwnerFacts } from './run-facts.ts';

/** Where a `nextRunAt` is: noted by a run, or as the owner wrote it. The former are found by an index, at any number of automations. */
export type DueSource = 'noted' | 'owned';

/** An automation that is due, with what its next note depends on. */
export interface DueAutomation {
  readonly key: Uint8Array;
  readonly automation: Automation;
  /** The `nextRunAt` that its owner wrote last. */
  readonly written: string | undefined;
  /** Milliseconds since the epoch. */
  readonly due: number;
  readonly facts: OwnerFacts;
  /** The note that is in effect: undefined where there is none. */
  readonly note: Uint8Array | null | undefined;
}

/** The automations by their `nextRunAt`. Only those count whose workflow exists. */
export interface DueAutomations {
  /** At most `limit` that are due at `now`, the earliest first, and the earliest time after `now`, where fewer are due. */
  find(
    source: DueSource,
    options: { readonly now: number; readonly limit: number },
  ): Promise<{ readonly due: readonly DueAutomation[]; readonly next: number | undefined }>;
  /**
   * Notes the next `nextRunAt` in a transaction of `Database.runs`, where nothing was noted since the automation was found. False: another
   * gateway was first.
   */
  moveOn(transaction: Transaction<Tables>, found: DueAutomation, next: string | null): Promise<boolean>;
  /** Notes `lastRunAt` in a transaction of `Database.runs`. */
  noteStart(transaction: Transaction<Tables>, found: DueAutomation, startedAt: string): Promise<void>;
}
