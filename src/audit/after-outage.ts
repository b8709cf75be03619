import type { Clock } from '#base/clock.ts';
import type { Database } from '#database/database.ts';
import { chainsAlive } from './audit-reading-store.ts';

/** Whether every gateway has looked, since the last outage of the store, for commits that the store lost. */
export interface AfterOutage {
  /** The store was away, or another server may be the store now. */
  outage(): void;
  /**
   * True where no gateway that was alive before the outage is missing. Each looks before it counts as alive again. One that does not come back
   * within ten seconds counts as ended. Rejects where the store is away.
   */
  haveAllLooked(): Promise<boolean>;
}

/** Milliseconds. A gateway that was alive so long before an outage may have runs in flight. */
const aliveBefore = 30_000;
const patience = 10_000;

/** `check`: looks whether the store has what this gateway wrote, marks a loss, and says that it is alive. */
export function createAfterOutage({
  database,
  clock,
  check,
}: {
  readonly database: Pick<Database, 'read'>;
  readonly clock: Clock;
  readonly check: () => Promise<void>;
}): AfterOutage {
  let open: { readonly since: number; missing?: ReadonlyMap<string, number>; until?: number } | undefined;
  return {
    outage() {
      const since = open?.since ?? clock.now() - aliveBefore;
      open = { since };
      // The other gateways wait for this one.
      void check().catch(() => {});
    },
    async haveAllLooked() {
      const outage = open;
      if (outage === undefined) return true;
      outage.missing ??= await chainsAlive(database, outage.since);
      outage.until ??= clock.monotonic() + patience;
      await check();
      const now = await chainsAlive(database, outage.since);
      const missing = [...outage.missing].filter(([chain, until]) => (now.get(chain) ?? Infinity) <= until);
      if (missing.length > 0 && clock.monotonic() < outage.until) return false;
      if (open === outage) open = undefined;
      return open === undefined;
    },
  };
}
