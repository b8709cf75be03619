import type { Migration } from '../migration.ts';

/** The due time of an automation that was skipped last, and why. */
export const lastSkips: Migration = {
  number: 47,
  name: 'last-skips',
  part: 'main',
  async up(transaction) {
    await transaction.schema.alterTable('automation').addColumn('last_skip', 'text').execute();
  },
};
