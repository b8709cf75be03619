import { sql } from 'kysely';
import type { Database } from '#database/database.ts';

/** What was said last of an adapter instance: nothing means that it is up. */
export interface SaidHealth {
  readonly isDown: boolean;
  /** The number of changes so far. */
  readonly changes: number;
}

/** What all gateways on the store have said of the health of adapter instances. Both methods reject with `store-unavailable`. */
export interface AdapterHealthStore {
  read(adapters: readonly string[]): Promise<ReadonlyMap<string, SaidHealth>>;
  /** Does nothing where another gateway has said something since. */
  change(adapter: string, from: SaidHealth, isDown: boolean): Promise<void>;
}

export function createAdapterHealthStore({ read, records }: Pick<Database, 'read' | 'records'>): AdapterHealthStore {
  return {
    async read(adapters) {
      if (adapters.length === 0) return new Map();
      const rows = await read.selectFrom('adapter_health').selectAll().where('adapter', 'in', adapters).execute();
      return new Map(rows.map(({ adapter, is_down: isDown, changes }) => [adapter, { isDown: isDown === 1, changes }]));
    },
    async change(adapter, { changes }, isDown) {
      const down = isDown ? 1 : 0;
      await sql`insert into adapter_health (adapter, is_down, changes) values (${adapter}, ${down}, ${changes + 1})
        on conflict (adapter) do update set is_down = ${down}, changes = ${changes + 1}
        where adapter_health.changes = ${changes}`.execute(records);
    },
  };
}
