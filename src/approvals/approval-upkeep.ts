import type { Clock } from '#base/clock.ts';
import { every } from '#base/every.ts';
import type { Log } from '#base/log.ts';
import type { ApprovalStore } from './approval-store.ts';

interface UpkeepOptions {
  readonly store: ApprovalStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds for which approvals that are over are kept. */
  readonly retention: number;
}

/** Milliseconds between two rounds, and after which a use counts as not announced by its own gateway. */
const interval = 2_000;
const announcedWithin = 5_000;
const atOnce = 100;

/** Ends approvals whose time is over, announces what a gateway that died did not, and deletes old ones. All gateways do it. */
export function keepApprovals({ store, clock, log, retention }: UpkeepOptions): { stop(): Promise<void> } {
  let forgotten = -Infinity;
  return every(
    interval,
    async () => {
      await store.expire({ limit: atOnce });
      await store.announce(await store.unannounced(announcedWithin));
      if (clock.monotonic() - forgotten < 60_000) return;
      forgotten = clock.monotonic();
      while ((await store.forget(clock.now() - retention, atOnce)) > 0);
    },
    () => log.warn('approvals could not be looked after; the gateway tries again in a moment'),
  );
}
