import { type Kysely, sql, type Transaction } from 'kysely';
import type { NamedPrincipal } from '#access/people.ts';
import { Semaphore } from '#base/semaphore.ts';
import type { Database } from '#database/database.ts';
import { everyVersion, refuseNewerRow } from '#database/row-version.ts';
import { storeUnavailable } from '#database/store-failure.ts';
import type { Tables } from '#database/tables/tables.ts';

export interface ListedForm {
  readonly id: string;
  readonly title: string | undefined;
  /** Milliseconds since the epoch. */
  readonly lastUpdated: number;
  readonly lastModifiedBy: string;
}

export interface StoredForm extends ListedForm {
  /** As it was written. */
  readonly text: string;
  /** Undefined: an earlier gateway stored it, and the audit log does not have its writer. */
  readonly writer: NamedPrincipal | undefined;
  /** The lowest version that may act on it (row-version.ts). Absent: every version. */
  readonly lowest?: number | undefined;
}

interface FormChange {
  readonly current: StoredForm | undefined;
  /** Of the automations that name the form; undefined: without a workflow. */
  readonly workflows: readonly (string | undefined)[];
}

type WorkflowsNaming = (transaction: Transaction<Tables>, id: string) => Promise<readonly (string | undefined)[]>;

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

/** Milliseconds, as for a lock of the store. */
const changeWait = 10_000;

export type FormStore = ReturnType<typeof createFormStore>;

/** No form and no automation changes while `judge` runs, which refuses by throwing. */
export function createFormStore(database: Database, workflowsNaming: WorkflowsNaming) {
  // A change that waits for the lock of PostgreSQL keeps a connection. One at a time leaves connections for readers.
  const changes = new Semaphore(1);
  const judged = async <T>(
    transaction: Transaction<Tables>,
    id: string,
    judge: (change: FormChange) => Promise<void>,
    work: (current: StoredForm | undefined) => Promise<T>,
  ): Promise<T> => {
    const current = await readOne(transaction, id);
    await judge({ current, workflows: await workflowsNaming(transaction, id) });
    refuseNewerRow('The form', current?.lowest);
    return await work(current);
  };
  const change = <T>(
    id: string,
    judge: (change: FormChange) => Promise<void>,
    work: (transaction: Transaction<Tables>, current: StoredForm | undefined) => Promise<T>,
  ): Promise<T> => {
    const change = (transaction: Transaction<Tables>): Promise<T> =>
      judged(transaction, id, judge, (current) => work(transaction, current));
    // The lock of the automations: a form must not be deleted while an automation begins to name it.
    return changes.run(() => database.exclusively('automation', change), {
      limit: changeWait,
      late: () => storeUnavailable('waited too long to change'),
    });
  };
  return {
    read: (id: string) => readOne(database.read, id),
    /** The same document keeps its writer. */
    put: (form: StoredForm, judge: (change: FormChange) => Promise<void>) =>
      change(form.id, judge, (transaction, current) => putForm(transaction, form, current)),
    /** In a transaction of an import. */
    async putIn(transaction: Transaction<Tables>, form: StoredForm, judge: (change: FormChange) => Promise<void>) {
      return await judged(transaction, form.id, judge, (current) => putForm(transaction, form, current));
    },
    /** All at a moment, in groups, in the order of their ids. */
    all: allForms,
    remove: (id: string, judge: (change: FormChange) => Promise<void>) =>
      change(id, judge, async (transaction) => {
        await transaction.deleteFrom('form').where('id', '=', bytesOf(id)).execute();
      }),
    /** In the order of their ids. */
    list: (page: FormPage) => listForms(database.read, page),
  };
}

async function putForm(transaction: Transaction<Tables>, form: StoredForm, current: StoredForm | undefined) {
  if (current?.writer !== undefined && current.text === form.text) return { isNew: false, stored: current };
  const row = rowOf(form);
  await transaction
    .insertInto('form')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute();
  return { isNew: current === undefined, stored: form };
}

/** Documents in memory at a time. */
const exportedAtOnce = 50;

async function* allForms(moment: Kysely<Tables>): AsyncGenerator<readonly Pick<StoredForm, 'id' | 'text'>[], void, undefined> {
  let last: Uint8Array | undefined = new Uint8Array();
  while (last !== undefined) {
    const rows: readonly Tables['form'][] = await moment
      .selectFrom('form')
      .selectAll()
      .where('id', '>', last)
      .orderBy('id')
      .limit(exportedAtOnce)
      .execute();
    yield rows.map(({ id, document }) => ({ id: textOf(id), text: textOf(document) }));
    last = rows.at(-1)?.id;
  }
}

interface FormPage {
  readonly limit: number;
  readonly skip: number;
}

/** Forms of an earlier gateway, which kept only the name of the writer. */
export async function unsettledForms({ read }: Pick<Database, 'read'>): Promise<readonly ListedForm[]> {
  const rows = await listedRows(read).execute();
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
  return row && { ...listedOf(row), text: textOf(row.document), writer: factsOf(row).writer ?? undefined, lowest: row.lowest };
}

async function listForms(read: Kysely<Tables>, { limit, skip }: FormPage) {
  const moment = await read.startTransaction().execute();
  try {
    const { total } = await moment
      .selectFrom('form')
      .select(sql<number>`cast(count(*) as bigint)`.as('total'))
      .executeTakeFirstOrThrow();
    const rows = await listedRows(moment).orderBy('id').limit(limit).offset(skip).execute();
    return { list: rows.map(listedOf), total };
  } finally {
    await moment.rollback().execute();
  }
}

function listedRows(read: Kysely<Tables>) {
  return read.selectFrom('form').select(['id', 'facts', 'changed_at']);
}

function rowOf({ id, text, title, lastUpdated, lastModifiedBy, writer }: StoredForm): Tables['form'] {
  return {
    id: bytesOf(id),
    document: bytesOf(text),
    // JSON, since PostgreSQL takes neither U+0000 nor a lone surrogate in a text.
    facts: JSON.stringify({ title, lastModifiedBy, writer } satisfies FormFacts),
    changed_at: lastUpdated,
    lowest: everyVersion,
  };
}

function listedOf({ id, facts, changed_at: lastUpdated }: Omit<Tables['form'], 'document' | 'lowest'>): ListedForm {
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
