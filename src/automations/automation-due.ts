import type { Automation } from './automation.ts';
import type { AutomationPeople } from './automation-people.ts';
import type { LastSkip } from './last-skip.ts';

/** An automation that is due. */
export interface DueAutomation {
  readonly key: Uint8Array;
  readonly automation: Automation;
  readonly people: AutomationPeople;
  /** The `nextRunAt` that its owner wrote last. */
  readonly written: string | undefined;
  /** Milliseconds since the epoch. */
  readonly due: number;
}

/** What follows for an automation that was due. */
export interface NextRun {
  readonly found: DueAutomation;
  /** Its next `nextRunAt`; null: it is not due again. */
  readonly next: string | null;
  /** Its new `lastRunAt`; undefined: no run began. */
  readonly startedAt: string | undefined;
  /** Its new `lastSkip`; undefined: the one that it has stays. */
  readonly skip: LastSkip | undefined;
}

/** The automations by their `nextRunAt`. Only those count whose workflow exists, and whose authors are known and may have named it. */
export interface DueAutomations {
  /** At most `limit` that are due at `now`, the earliest first, and the earliest time after `now`, where fewer are due. */
  find(options: { readonly now: number; readonly limit: number }): Promise<{
    readonly due: readonly DueAutomation[];
    readonly next: number | undefined;
  }>;
  /** A `nextRunAt` that was written meanwhile stays. Answers how many were moved on. */
  moveOn(all: readonly NextRun[]): Promise<number>;
}
