import type { Transaction } from 'kysely';
import type { Tables } from '#database/tables/tables.ts';

/**
 * Another part of the records that writes in the transactions of the audit log. What waits in both at one moment is one commit. So an outcome,
 * the step of a run that follows, and the next intent are one.
 */
export interface Companion {
  readonly isWaiting: boolean;
  /** What goes into the next transaction; undefined where nothing waits. */
  take(): CompanionBatch | undefined;
}

export interface CompanionBatch {
  /** May be called again, in a transaction that follows one which wrote nothing. */
  readonly write: (transaction: Transaction<Tables>) => Promise<void>;
  readonly committed: () => void;
  /** The transaction failed: its result is unknown, but after StatementRefused nothing was written. */
  readonly failed: (error: unknown) => void;
}

/** Answers a function to call when something waits. */
export type Join = (companion: Companion) => () => void;
