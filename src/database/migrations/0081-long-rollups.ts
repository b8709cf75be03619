import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/** Ends are counted for six hours as well, so that long questions read fewer rows. Those of before are counted here. */
export const longRollups: Migration = {
  number: 81,
  name: 'long-rollups',
  part: 'records',
  async up(transaction) {
    const at = sql`at - at % 21600000`;
    await sql`insert into rollup (kind, grain, subject, at, status, bucket, gateway, ends, longest)
      select kind, 21600000, subject, ${at}, status, bucket, gateway, cast(sum(ends) as bigint), max(longest) from rollup
      where grain = 3600000 group by kind, subject, ${at}, status, bucket, gateway`.execute(transaction);
  },
};
