import type { Migration } from '../migration.ts';

/** Changes no table. From here on a row of the event log may have several events as facts, which an earlier version cannot read. */
export const eventsAsFacts: Migration = {
  number: 60,
  name: 'packed-events',
  part: 'records',
  async up() {},
};
