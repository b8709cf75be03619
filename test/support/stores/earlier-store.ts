import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import { Client } from 'pg';
import type { StoreOptions } from '../../../src/database/database.ts';
import { filesOf, formerRunsFile } from '../../../src/database/store-part.ts';
import type { Owner } from '../owner.ts';
import type { TestStore } from './stores.ts';

/** What the gateway that wrote the earlier store answered before it stopped. */
interface EarlierAnswers {
  /** Runs by how they were left: ids. */
  readonly runs: Readonly<Record<'ended' | 'waiting' | 'suspended', string>>;
  /** The bodies of replies, by the target of the request. */
  readonly answers: Readonly<Record<string, string>>;
  /** The entity tags of automations, by their `_id`. */
  readonly tags: Readonly<Record<string, string>>;
}

export function earlierAnswers({ dialect }: TestStore): EarlierAnswers {
  return JSON.parse(contents(`${dialect}.json`)) as EarlierAnswers;
}

/** The SQLite files that the earlier store has next to each other, with the names of their dumps. */
export function earlierFiles(file: string): Readonly<Record<'main' | 'audit' | 'runs', string>> {
  const [main, records] = filesOf(file);
  return { main: main.file, audit: records.file, runs: formerRunsFile(file) };
}

/**
 * A store that the gateway of commit 478c484 wrote, over its API: on SQLite three files. It has automations with groups, run facts and schedules, and
 * runs that ended, wait and are suspended. It also has events, an approval, notifications, audit records and an idempotency key. The dumps are those of sqlite3 and of pg_dump, whose settings and schema names were taken out.
 */
export async function earlierStore(owner: Owner, store: TestStore): Promise<StoreOptions> {
  const options = await store.fresh(owner);
  if (options.kind === 'sqlite') {
    for (const [name, file] of Object.entries(earlierFiles(options.file))) {
      const database = new DatabaseSync(file);
      database.exec('pragma journal_mode = wal');
      database.exec(contents(`${name}.sql`));
      database.close();
    }
    return options;
  }
  const client = new Client({ connectionString: options.url.reveal() });
  await client.connect();
  try {
    await client.query(contents('postgres.sql'));
  } finally {
    await client.end();
  }
  return options;
}

function contents(name: string): string {
  return gunzipSync(readFileSync(new URL(`store-478c484/${name}.gz`, import.meta.url))).toString('utf8');
}
