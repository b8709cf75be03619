import type { Transaction } from 'kysely';
import type { Tables } from './tables.ts';

/** One step forward of the schema, run once, in a transaction of its own, on either dialect. There is no way back. */
export interface Migration {
  readonly number: number;
  readonly name: string;
  up(transaction: Transaction<Tables>, dialect: 'sqlite' | 'postgres'): Promise<void>;
}
