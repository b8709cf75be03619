import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import { Client } from 'pg';
import type { StoreOptions } from '../../../src/database/database.ts';
import { filesOf, formerRunsFile } from '../../../src/database/store-part.ts';
import type { Owner } from '../owner.ts';
import type { TestStore } from './stores.ts';

// The dumps are those of sqlite3 and of pg_dump, whose settings and schema names were taken out.

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
 * runs that ended, wait and are suspended. It also has events, an approval, notifications, audit records and an idempotency key.
 */
export async function earlierStore(owner: Owner, store: TestStore): Promise<StoreOptions> {
  const options = await store.fresh(owner);
  if (options.kind === 'postgres') await fillPostgres(options, contents('postgres.sql'));
  else
    for (const [name, file] of Object.entries(earlierFiles(options.file)))
      fillSqlite(file, `pragma journal_mode = wal;\n${contents(`${name}.sql`)}`);
  return options;
}

function contents(name: string): string {
  return gunzipSync(readFileSync(new URL(`store-478c484/${name}.gz`, import.meta.url))).toString('utf8');
}

/** A document of the old store: its JSON text as version 0.1.0 exported it, and its entity tag there. */
interface OldDocument {
  readonly text: string;
  readonly tag: string;
}

/** What the old store has, in alphabetical order. */
export const oldDocuments: readonly OldDocument[] = oldContents('documents.txt')
  .trimEnd()
  .split('\n')
  .map((line) => ({ tag: line.slice(0, line.indexOf(' ')), text: line.slice(line.indexOf(' ') + 1) }));

/** A store that version 0.1.0 of the gateway (commit 1a86871) wrote: by an import, then a replacement, a merge patch and a deletion. */
export async function oldStore(owner: Owner, store: TestStore): Promise<StoreOptions> {
  const options = await store.fresh(owner);
  if (options.kind === 'postgres') await fillPostgres(options, oldContents('postgres.sql'));
  else fillSqlite(options.file, oldContents('sqlite.sql'));
  return options;
}

function oldContents(name: string): string {
  return readFileSync(new URL(`store-0.1.0.${name}`, import.meta.url), 'utf8');
}

function fillSqlite(file: string, dump: string): void {
  const database = new DatabaseSync(file);
  database.exec(dump);
  database.close();
}

/** A store with the statements of this dump. */
export async function fillPostgres({ url }: Extract<StoreOptions, { readonly kind: 'postgres' }>, dump: string): Promise<void> {
  const client = new Client({ connectionString: url.reveal() });
  await client.connect();
  try {
    await client.query(dump);
  } finally {
    await client.end();
  }
}
