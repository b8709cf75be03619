// suite: alone

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { sqliteStore } from '../../../test/support/stores/stores.ts';

const mebibyte = 1024 ** 2;

test('the writer of the records keeps few of the pages that it wrote in memory', async (t) => {
  const { records: query } = await sqliteStore.open(t);
  await sql`create table page (number integer primary key, content blob)`.execute(query);
  const write = (pages: number): Promise<unknown> =>
    sql`with recursive page_of (number) as (select 1 union all select number + 1 from page_of where number < ${pages})
      insert into page (content) select randomblob(4000) from page_of`.execute(query);
  // The first pages allocate what a connection needs once.
  await write(1_000);
  const before = process.memoryUsage.rss();
  for (let count = 0; count < 12; count += 1) await write(1_000);
  const grown = (process.memoryUsage.rss() - before) / mebibyte;
  assert.ok(grown < 24, `48 MB of pages took ${grown.toFixed(0)} MiB of memory`);
});
