import type { Kysely, Transaction } from 'kysely';
import { sql } from 'kysely';
import type { NamedPrincipal } from '#access/people.ts';
import { Semaphore } from '#base/semaphore.ts';
import type { Database } from '#database/database.ts';
import { storeUnavailable } from '#database/store-failure.ts';
import type { Tables } from '#database/tables.ts';

/** What a listing has of a form. */
export interface ListedForm {
  readonly id: string;
  readonly title: string | undefined;
  /** Milliseconds since the epoch. */
  readonly lastUpdated: number;
  readonly lastModifiedBy: string;
}

/** A form in the store. */
export interface StoredForm extends ListedForm {
  /** The document as it was written. */
  readonly text: string;
  /** Who wrote it; undefined where an earlier gateway stored it, and the audit log does not have its writer. */
  readonly writer: NamedPrincipal | undefined;
}

/** What decides about a change of a form. */
interface FormChange {
  readonly current: StoredForm | undefined;
  /** The workflows of the automations that name the form; undefined for an automation without one. */
  readonly workflows: readonly (string | undefined)[];
}

/** The forms on this store. */
export interface FormStore {
  read(id: string): Promise<StoredForm | undefined>;
  /**
   * Stores the form instead of the one with its id, unless `judge` refuses by throwing. No form and no automation changes meanwhile. The same
   * document keeps its writer.
   */
  put(
    form: StoredForm,
    judge: (change: FormChange) => Promise<void>,
  ): Promise<{ readonly isNew: boolean; readonly stored: StoredForm }>;
  /** Deletes what `judge` does not refuse by throwing. No form and no automation changes meanwhile. */
  remove(id: string, judge: (change: FormChange) => Promise<void>): Promise<void>;
  /** In the order of their ids. */
  list(page: { readonly limit: number; readonly skip: number }): Promise<{
    readonly list: readonly ListedForm[];
    readonly total: number;
  }>;
}

/** The workflows of the automations that name the form. */
type WorkflowsNaming = (transaction: Transaction<Tables>, id: string) => Promise<readonly (string | undefined)[]>;

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

/** Milliseconds that a change waits for the one before it, as for a lock of the store. */
const changeWait = 10_000;

export function createFormStore(database: Database, workflowsNaming: WorkflowsNaming): FormStore {
  // A change that waits for the lock of PostgreSQL keeps a connection. One at a time leaves connections for readers.
  const changes = new Semaphore(1);
  // The lock of the automations, for both kinds of change: a form must not be deleted while an automation begins to name it.
  const change = <T>(work: (transaction: Transaction<Tables>) => Promise<T>): Promise<T> =>
    changes.run(() => database.exclusively('automation', work), {
      limit: changeWait,
      late: () => storeUnavailable('waited too long to change'),
    });
  return {
    read: (id) => readOne(database.read, id),
    put: (form, judge) =>
      change(async (transaction) => {
        const current = await readOne(transaction, form.id);
        await judge({ current, workflows: await workflowsNaming(transaction, form.id) });
        if (current?.writer !== undefined && current.text === form.text) return { isNew: false, stored: current };
        const row = rowOf(form);
        await transaction
          .insertInto('form')
          .values(row)
          .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
          .execute();
        return { isNew: current === undefined, stored: form };
      }),
    remove: (id, judge) =>
      change(async (transaction) => {
        await judge({ current: await readOne(transaction, id), workflows: await workflowsNaming(transaction, id) });
        await transaction.deleteFrom('form').where('id', '=', bytesOf(id)).execute();
      }),
    list: (page) => listForms(database.read, page),
  };
}

/** The forms of which no gateway has looked for the writer: an earlier one stored them, which kept a name alone. */
export async function unsettledForms({ read }: Pick<Database, 'read'>): Promise<readonly ListedForm[]> {
  const rows = await read.selectFrom('form').select(['id', 'facts', 'changed_at']).execute();
  return rows.filter((row) => factsOf(row).writer === undefined).map(listedOf);
}

/** The form may have been written again meanwhile. */
export async function settleForm(
  { query }: Pick<Database, 'query'>,
  { id, title, lastModifiedBy, lastUpdated }: ListedForm,
  writer: NamedPrincipal | undefined,
): Promise<void> {
  await query
    .updateTable('form')
    .set({ facts: JSON.stringify({ title, lastModifiedBy, writer: writer ?? null } satisfies FormFacts) })
    .where('id', '=', bytesOf(id))
    .where('changed_at', '=', lastUpdated)
    .where('facts', '=', JSON.stringify({ title, lastModifiedBy } satisfies FormFacts))
    .execute();
}

async function readOne(read: Kysely<Tables>, id: string): Promise<StoredForm | undefined> {
  const row = await read.selectFrom('form').selectAll().where('id', '=', bytesOf(id)).executeTakeFirst();
  return row && { ...listedOf(row), text: textOf(row.document), writer: factsOf(row).writer ?? undefined };
}

async function listForms(
  read: Kysely<Tables>,
  { limit, skip }: { readonly limit: number; readonly skip: number },
): ReturnType<FormStore['list']> {
  const moment = await read.startTransaction().execute();
  try {
    const { total } = await moment
      .selectFrom('form')
      .select(sql<number>`cast(count(*) as bigint)`.as('total'))
      .executeTakeFirstOrThrow();
    const rows = await moment
      .selectFrom('form')
      .select(['id', 'facts', 'changed_at'])
      .orderBy('id')
      .limit(limit)
      .offset(skip)
      .execute();
    return { list: rows.map(listedOf), total };
  } finally {
    await moment.rollback().execute();
  }
}

function rowOf({ id, text, title, lastUpdated, lastModifiedBy, writer }: StoredForm): Tables['form'] {
  return {
    id: bytesOf(id),
    document: bytesOf(text),
    // JSON, since PostgreSQL takes neither U+0000 nor a lone surrogate in a text.
    facts: JSON.stringify({ title, lastModifiedBy, writer } satisfies FormFacts),
    changed_at: lastUpdated,
  };
}

function listedOf({ id, facts, changed_at: lastUpdated }: Omit<Tables['form'], 'document'>): ListedForm {
  const { title, lastModifiedBy } = factsOf({ facts });
  return { id: textOf(id), title, lastUpdated, lastModifiedBy };
}

interface FormFacts {
  readonly title?: string | undefined;
  readonly lastModifiedBy: string;
  /** Absent: an earlier gateway stored the form; null: no writer is known. */
  readonly writer?: NamedPrincipal | null | undefined;
}

function factsOf({ facts }: Pick<Tables['form'], 'facts'>): FormFacts {
  return JSON.parse(facts) as FormFacts;
}
