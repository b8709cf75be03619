/**
 * What the two readings of the scheduler cost with 100,000 scheduled automations. Run `node bench/schedule-scan.ts` for SQLite. For
 * PostgreSQL, give the URL of an empty schema as its argument.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { createDueAutomations } from '../src/automations/automation-due-store.ts';
import { createAutomationStore } from '../src/automations/automation-store.ts';
import { noLog } from '../src/base/log.ts';
import { Secret } from '../src/base/secret.ts';
import { openDatabase } from '../src/database/database.ts';

const [automations, batch, repetitions] = [100_000, 500, 15];
const [, , url] = process.argv;
const directory = await mkdtemp(join(tmpdir(), 'gateway-scan-'));
const database = await openDatabase({
  store: url === undefined ? { kind: 'sqlite', file: join(directory, 'gateway.db') } : { kind: 'postgres', url: new Secret(url) },
  part: 'main',
  log: noLog,
});
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const now = Date.parse('2026-05-01T00:00:00Z');
const at = (milliseconds: number): string => new Date(milliseconds).toISOString();
const version = {
  version: bytes('1.0.0'),
  version_key: bytes('1.0.0'),
  document: bytes('{}'),
  media_type: 'application/json',
} as const;
await database.query
  .insertInto('workflow')
  .values({
    id: bytes('lab.sync'),
    ...version,
    definition: '{}',
    facts: '{}',
    created_at: 1,
    created_by: 'bench',
    digest: '',
    storers: null,
  })
  .execute();
const store = createAutomationStore(database);
await store.change(async (writer) => {
  for (let start = 0; start < automations; start += batch) {
    const some = Array.from({ length: batch }, (_, index) => ({
      _id: `a${start + index}`,
      name: `a${start + index}`,
      data: { workflowId: 'lab.sync' },
      nextRunAt: at(now - 1_000),
      repeatInterval: '1 hour',
    }));
    await writer.insert(some);
  }
});
const due = createDueAutomations(database);
const report = async (what: string): Promise<void> => {
  for (const source of ['noted', 'owned'] as const) {
    const times: number[] = [];
    for (let repetition = 0; repetition < repetitions; repetition += 1) {
      const startedAt = performance.now();
      await due.find(source, { now, limit: 50 });
      times.push(performance.now() - startedAt);
    }
    times.sort((one, other) => one - other);
    const [least, median, most] = [times[0], times[repetitions >> 1], times.at(-1)].map((time = 0) => time.toFixed(1));
    console.log(`${database.dialect} | ${what} | ${source} | ${least} | ${median} | ${most}`);
  }
};
console.log('store | automations | reading | least ms | median ms | most ms');
await report('none has run, all due');
const rows = await database.read.selectFrom('automation').select(['id', 'next_run_revision']).execute();
for (let start = 0; start < rows.length; start += batch) {
  const notes = rows.slice(start, start + batch).map(({ id, next_run_revision: revision }, index) => ({
    automation_id: id,
    field: 'nextRunAt' as const,
    revision,
    at_key: bytes(at(now + 60_000 + start + index).toLowerCase()),
  }));
  await database.runs.insertInto('run_fact').values(notes).execute();
}
await report('all have run, none due');
// PostgreSQL's autovacuum does so within a minute of many writes.
await sql`analyze`.execute(database.query);
await report('all have run, none due, with statistics');
await database.close();
await rm(directory, { recursive: true });
