import type { Transaction } from 'kysely';
import type { SchemaPart } from './store-part.ts';
import type { Tables } from './tables.ts';

/** One step forward of the schema, run once, in a transaction of its own, on either dialect. There is no way back. */
export interface Migration {
  readonly number: number;
  readonly name: string;
  /** On SQLite it is run on the file of this part alone, on PostgreSQL always. */
  readonly part: SchemaPart;
  up(transaction: Transaction<Tables>, dialect: 'sqlite' | 'postgres'): Promise<void>;
}
