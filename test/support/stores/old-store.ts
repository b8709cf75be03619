import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import type { StoreOptions } from '../../../src/database/database.ts';
import type { Owner } from '../owner.ts';
import type { TestStore } from './stores.ts';

/** A document of the old store: its JSON text as version 0.1.0 exported it, and its entity tag there. */
interface OldDocument {
  readonly text: string;
  readonly tag: string;
}

/** What the old store has, in alphabetical order. */
export const oldDocuments: readonly OldDocument[] = contents('documents.txt')
  .trimEnd()
  .split('\n')
  .map((line) => ({ tag: line.slice(0, line.indexOf(' ')), text: line.slice(line.indexOf(' ') + 1) }));

/**
 * A store that version 0.1.0 of the gateway (commit 1a86871) wrote: by an import, then a replacement, a merge patch and a deletion. The
 * dumps are those of sqlite3 and of pg_dump, whose settings and schema names were taken out.
 */
export async function oldStore(owner: Owner, store: TestStore): Promise<StoreOptions> {
  const options = await store.fresh(owner);
  if (options.kind === 'sqlite') {
    const database = new DatabaseSync(options.file);
    database.exec(contents('sqlite.sql'));
    database.close();
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
  return readFileSync(new URL(`store-0.1.0.${name}`, import.meta.url), 'utf8');
}
