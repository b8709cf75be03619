import type { Transaction } from 'kysely';
import type { Tables } from '#database/tables/tables.ts';

/** What a call needs once, and what its intent uses up in the same transaction. */
export interface IntentPermit {
  /** Permits are used in the order of their keys, so that two transactions cannot deadlock. */
  readonly key: string;
  /**
   * Resolves to false where the permit cannot be used any more. Then nothing of the transaction is written. `record`: the id of the audit
   * record of the call.
   */
  use(transaction: Transaction<Tables>, record: string): Promise<boolean>;
  /** Why the permit could not be used. */
  lost(): Promise<Error>;
}
