import type { Transaction } from 'kysely';
import type { StorePart } from './store-part.ts';
import type { Tables } from './tables/tables.ts';

/** One change of the schema. It runs once, in a transaction of its own, on either dialect, and cannot be undone. */
export interface Migration {
  readonly number: number;
  readonly name: string;
  /** On SQLite it runs on the file of this part alone, on PostgreSQL always. */
  readonly part: StorePart;
  /**
   * The lowest version of the gateway that works on a store with this migration. Usually it is the minor version before the one that brings it, so
   * that people can go back. A migration adds what later versions need, and removes what no version from `lowest` on needs.
   */
  readonly lowest?: string;
  up(transaction: Transaction<Tables>, dialect: 'sqlite' | 'postgres'): Promise<void>;
}
