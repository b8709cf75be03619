import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import { every } from '#base/timing/every.ts';
import type { Approval } from './approval.ts';
import { lossesOf, type StandingNeeds } from './approval-standing.ts';
import type { ApprovalStore } from './approval-store.ts';

interface UpkeepOptions extends Pick<StandingNeeds, 'principalNow' | 'isGone' | 'persons'> {
  readonly store: ApprovalStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds for which approvals that are over are kept. */
  readonly retention: number;
  /** The audit log says that what ended before this time may be deleted. */
  readonly forgetting: (before: number) => Promise<void>;
}

export interface ApprovalUpkeep {
  /** Withdraws the grants of people who are no approvers any more. Never rejects: where the store is away, the next round tries again. */
  withdrawLost(): Promise<void>;
  /** What ended before this time may be deleted, with its events. */
  readonly forgotten: () => number;
  stop(): Promise<void>;
}

/** Milliseconds between two rounds, and after which a use counts as not announced by its own gateway. */
const interval = 2_000;
const lateAfter = 5_000;
const slowInterval = 60_000;
const forgettingInterval = 3_600_000;
const atOnce = 100;

/** Ends approvals whose time is over, completes what a gateway that died did not, and deletes old ones. All gateways do it. */
export function keepApprovals(options: UpkeepOptions): ApprovalUpkeep {
  const { store, clock, log } = options;
  const forget = forgetter(options);
  let areVoidEnded = false;
  let lastSlow = -Infinity;
  const withdrawLost = async (): Promise<void> => {
    for await (const approval of openApprovals(store)) await store.withdraw(approval, await lossesOf(approval, options));
  };
  const warn = (): void => log.warn('approvals could not be looked after; the gateway tries again in a moment');
  const timer = every(
    interval,
    async () => {
      if (!areVoidEnded) await endVoid(store);
      areVoidEnded = true;
      await store.expire({ limit: atOnce });
      await store.endUsed(atOnce);
      await store.announce(await store.unannounced(lateAfter));
      await store.recordLate(lateAfter);
      if (clock.monotonic() - lastSlow < slowInterval) return;
      lastSlow = clock.monotonic();
      await withdrawLost();
      await forget.round();
    },
    warn,
  );
  return { withdrawLost: () => withdrawLost().catch(warn), forgotten: forget.forgotten, stop: () => timer.stop() };
}

/** Deletes what the audit log says may be deleted: so what is missing although it may not shows in a verification. */
function forgetter({ store, clock, retention, forgetting }: UpkeepOptions): {
  readonly round: () => Promise<void>;
  readonly forgotten: () => number;
} {
  let before = -Infinity;
  return {
    async round() {
      const now = clock.now() - retention;
      if (now - before >= forgettingInterval) {
        await forgetting(now);
        before = now;
      }
      while ((await store.forget(before, atOnce)) > 0);
    },
    forgotten: () => before,
  };
}

async function* openApprovals(store: ApprovalStore): AsyncGenerator<Approval> {
  for (let after = ''; ; ) {
    const page = await store.open({ after, limit: atOnce });
    yield* page;
    if (page.length < atOnce) return;
    after = page.at(-1)?.id ?? '';
  }
}

/** Open approvals of an earlier version, or of another key: their calls ask again. */
async function endVoid(store: ApprovalStore): Promise<void> {
  for await (const { id, isVoid } of openApprovals(store)) if (isVoid) await store.expire({ ids: [id] });
}
