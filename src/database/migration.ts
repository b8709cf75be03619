import type { Transaction } from 'kysely';
import type { StorePart } from './store-part.ts';
import type { Tables } from './tables.ts';

/** One change of the schema. It runs once, in a transaction of its own, on either dialect, and cannot be undone. */
export interface Migration {
  readonly number: number;
  readonly name: string;
  /** On SQLite it runs on the file of this part alone, on PostgreSQL always. */
  readonly part: StorePart;
  up(transaction: Transaction<Tables>, dialect: 'sqlite' | 'postgres'): Promise<void>;
}
