import { sql, type Transaction } from 'kysely';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables/tables.ts';
import { type CallKeyChange, KeysTaken } from './idempotent-request.ts';

/** Milliseconds for which a key is kept. */
const keptFor = 86_400_000;

/** Throws KeysTaken; the caller must then roll the transaction back. */
export async function applyKeyChanges(
  transaction: Transaction<Tables>,
  changes: readonly CallKeyChange[],
  dialect: Database['dialect'],
): Promise<void> {
  // All gateways take keys in one order, so that transactions with several keys cannot deadlock.
  const taken = changes.filter((change) => change.kind === 'take').toSorted((one, other) => (one.id < other.id ? -1 : 1));
  if (taken.length > 0) await take(transaction, taken);
  const ended = changes.filter((change) => change.kind === 'end');
  if (ended.length > 0) {
    const rows = JSON.stringify(ended.map(({ chain, call, state, reply }) => [chain, call, state, reply ?? null]));
    await endCalls[dialect](rows).execute(transaction);
  }
  for (const { chain, call } of changes.filter((change) => change.kind === 'release'))
    await transaction.deleteFrom('idempotency_key').where('chain', '=', chain).where('call', '=', call).execute();
}

type Take = Extract<CallKeyChange, { readonly kind: 'take' }>;

async function take(transaction: Transaction<Tables>, taken: readonly Take[]): Promise<void> {
  const known = taken.filter(({ isNew }) => isNew !== true);
  if (known.length > 0)
    await transaction
      .deleteFrom('idempotency_key')
      .where(
        'id',
        'in',
        known.map(({ id }) => id),
      )
      .where('taken_at', '<', Math.min(...known.map(({ at }) => at)) - keptFor)
      .execute();
  const rows = taken.map(({ id, fingerprint, chain, call, at }) => ({ id, fingerprint, chain, call, taken_at: at }));
  const got = await transaction
    .insertInto('idempotency_key')
    .values(rows.map((row) => ({ ...row, state: null, reply: null })))
    .onConflict((conflict) => conflict.doNothing())
    .returning('call')
    .execute();
  const calls = new Set(got.map(({ call }) => call));
  const missed = taken.filter(({ call }) => !calls.has(call));
  if (missed.length > 0) throw new KeysTaken(new Set(missed.map(({ call }) => call)));
}

/** One statement for any number of calls. */
const endCalls = {
  sqlite: (rows: string) => sql`update idempotency_key set state = value ->> 2, reply = value ->> 3 from json_each(${rows})
    where chain = value ->> 0 and call = value ->> 1`,
  postgres: (rows: string) => sql`update idempotency_key set state = value ->> 2, reply = value ->> 3
    from json_array_elements(${rows}::json) as ended(value) where chain = value ->> 0 and call = (value ->> 1)::bigint`,
};

/** A key that was taken within the last 24 hours. */
export interface TakenKey {
  readonly fingerprint: string;
  readonly chain: string;
  readonly call: number;
  readonly taken_at: number;
  readonly state: string | null;
  readonly reply: string | null;
  /** Until when the gateway that took the key counts as alive. Null if its chain never began, or has ended. */
  readonly alive_until: number | null;
}

export async function findKey({ read }: Database, id: string, now: number): Promise<TakenKey | undefined> {
  const { rows } = await sql<TakenKey>`select k.fingerprint, k.chain, k.call, k.taken_at, k.state, k.reply,
      case when c.ended_at is null then c.alive_until end as alive_until
    from idempotency_key k left join audit_chain c on c.chain = k.chain
    where k.id = ${id} and k.taken_at >= ${now - keptFor}`.execute(read);
  return rows[0];
}

/** Releases the key of a call whose gateway can no longer do so. */
export async function releaseKey({ records }: Database, { chain, call }: Pick<TakenKey, 'chain' | 'call'>): Promise<void> {
  await records.deleteFrom('idempotency_key').where('chain', '=', chain).where('call', '=', call).execute();
}

/** Deletes keys that no request can match any more. */
export async function forgetKeys({ records }: Database, now: number): Promise<void> {
  await records
    .deleteFrom('idempotency_key')
    .where('taken_at', '<', now - keptFor)
    .execute();
}

/** Bytes in the store for one key in addition to its reply: its columns and three indexes. */
const keyOverhead = 400;

/** The approximate size of all keys in bytes, with their replies. */
export async function sizeOfKeys(query: Database['query'] | Transaction<Tables>): Promise<number> {
  const { rows } = await sql<{
    size: number;
  }>`select cast(coalesce(sum(coalesce(octet_length(reply), 0) + ${sql.lit(keyOverhead)}), 0)
    as bigint) as size from idempotency_key`.execute(query);
  return rows[0]?.size ?? 0;
}
