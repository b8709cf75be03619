import { setTimeout as sleep } from 'node:timers/promises';
import type { LostEntries } from '#audit/audit-entry.ts';
import type { AuditLog } from '#audit/audit-log.ts';
import { type AfterOutage, checkpointedLosses, createAfterOutage, restoredLosses } from '#audit/lost-records.ts';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import { systemCode } from '#base/system-code.ts';
import { every } from '#base/timing/every.ts';
import type { Config } from '#config/config.ts';
import type { Database } from '#database/database.ts';
import { isStoreAway, storeUnavailable } from '#database/store-failure.ts';
import type { RunStore } from '#runs/journal/run-store.ts';
import type { OpenLoss, StoreLoss } from '#runs/journal/store-loss-store.ts';
import type { Approvals } from '../open-approvals.ts';

/** What a gateway does where the store has less than it acknowledged, as after an asynchronous failover of PostgreSQL. */
export interface StoreLosses {
  /** Marks the store as lost for all gateways: see `markLost` of the run store. Rejects where the store is away, and before `connect`. */
  lost(lost: LostEntries): Promise<void>;
  /** To be called once, before runs are claimed. Compares the store with the checkpoints of an earlier gateway. */
  connect(started: AsyncDisposableStack, parts: LossParts): void;
  /** The store for the engine: it claims nothing before every gateway has looked for a loss. */
  guarded(store: RunStore): RunStore;
  /** What people have not released, as far as this gateway knows it. */
  open(): OpenLoss | undefined;
  /** Lets the runs go on that are held, and ends what `open` answers. Answers how many runs. */
  release(): Promise<number>;
  /** A configuration is in force. */
  follow(next: Config): void;
}

interface LossParts {
  readonly audit: AuditLog;
  readonly store: RunStore;
  readonly endApprovals: Approvals['endAllIn'];
}

interface LossOptions {
  readonly config: Config;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

/** Milliseconds between two looks for what other gateways marked, and until a look is tried again. */
const lookInterval = 2_000;
const pause = 1_000;
const claimAgain = 200;

const channelOfLosses = 'orchestration_gateway_loss';

export function createStoreLosses({ config, database, clock, log }: LossOptions): StoreLosses {
  const begun = clock.now();
  let { afterLoss } = config.automations;
  let parts: LossParts | undefined;
  let outages: AfterOutage | undefined;
  let isCompared = false;
  let known: OpenLoss | undefined;
  const told = new Set<string>();
  const look = async (): Promise<void> => {
    const found = await parts?.store.openLoss();
    const isNew = found !== undefined && (found.at !== known?.at || found.records !== known.records);
    known = found;
    if (isNew) parts?.store.tell({ kind: 'rewound', to: found.lastEvent });
  };
  const lost: StoreLosses['lost'] = async ({ chain, from, to, records }) => {
    if (parts === undefined) throw storeUnavailable('the gateway starts');
    const holds = afterLoss === 'hold';
    await mark(parts, { chain, to, records, at: clock.now() }, holds);
    if (told.has(`${chain}/${to}`)) return;
    told.add(`${chain}/${to}`);
    const reason = `${records} records, ${chain}/${from} to ${chain}/${to}`;
    log.error(holds ? lostAndHeld : lostAndGoingOn, { reason });
    await look().catch(() => {});
  };
  const release = async (): Promise<number> => {
    const released = (await parts?.store.releaseHeld()) ?? 0;
    await look().catch(() => {});
    return released;
  };
  return {
    lost,
    connect(started, connected) {
      parts = connected;
      const { audit } = connected;
      outages = createAfterOutage({ database, clock, check: () => audit.check() });
      const silence = database.notifications.listen(channelOfLosses, {
        received() {},
        missed() {},
        lost: () => outages?.outage(),
      });
      started.defer(silence);
      const timer = every(lookInterval, look, () => undefined);
      started.defer(() => timer.stop());
      const comparing = new AbortController();
      started.defer(() => comparing.abort());
      void compareWithEarlier({ config, database, log, begun }, audit, comparing.signal).then((compared) => {
        isCompared = compared;
      });
      // The first claims wait for gateways that may have seen a failover before this one began.
      if (database.dialect === 'postgres') outages.outage();
    },
    guarded: (store) => guardedStore(store, { clock, isCompared: () => isCompared, outages: () => outages }),
    open: () => known,
    release,
    follow(next) {
      const before = afterLoss;
      ({ afterLoss } = next.automations);
      if (afterLoss === 'continue' && before === 'hold') void releaseByReload(release, log);
    },
  };
}

/** Ends every approval in the same transaction, and tells of that once it is done. */
async function mark({ store, endApprovals }: LossParts, loss: StoreLoss, holds: boolean): Promise<void> {
  let tell = (): void => {};
  await store.markLost(loss, {
    holds,
    async also(transaction) {
      const { change, told } = await endApprovals(transaction);
      tell = told;
      return change;
    },
  });
  tell();
}

function guardedStore(
  store: RunStore,
  {
    clock,
    isCompared,
    outages,
  }: Pick<LossOptions, 'clock'> & {
    readonly isCompared: () => boolean;
    readonly outages: () => AfterOutage | undefined;
  },
): RunStore {
  const mayClaim = async (): Promise<boolean> => isCompared() && (await outages()?.haveAllLooked()) !== false;
  return {
    ...store,
    async claim(options) {
      try {
        return (await mayClaim()) ? await store.claim(options) : [];
      } catch (error) {
        if (isStoreAway(error)) outages()?.outage();
        throw error;
      }
    },
    async nextWake(options) {
      return (await mayClaim()) ? await store.nextWake(options) : clock.now() + claimAgain;
    },
  };
}

const lostAndHeld =
  'the store lost commits: runs that were under way are held until POST /runs/release, and approvals have ended';
const lostAndGoingOn = 'the store lost commits: runs that were under way go on, and approvals have ended';

async function releaseByReload(release: () => Promise<number>, log: Log): Promise<void> {
  try {
    const released = await release();
    if (released > 0) log.warn('runs that were held after a loss of the store go on', { reason: `${released} runs` });
  } catch {
    log.error('runs that are held after a loss of the store could not be released: reload again, or use POST /runs/release');
  }
}

/** Marks what the store lost before this gateway began. False: a store from a backup could not be marked, and no run may go on. Never rejects. */
async function compareWithEarlier(...[options, audit, signal]: Parameters<typeof compareWithFile>): Promise<boolean> {
  const { log } = options;
  try {
    await whenStoreAnswers(() => markRestored(options, audit), signal);
  } catch (error) {
    const errorName = error instanceof Error ? error.name : 'unknown';
    log.error('the restored store could not be marked as one that lost commits: its runs do not go on', { errorName });
    return false;
  }
  await compareWithFile(options, audit, signal);
  return true;
}

/** A store from a backup has nothing of what came after it. */
async function markRestored({ database, log }: Pick<LossOptions, 'database' | 'log'>, audit: AuditLog): Promise<void> {
  const found = await restoredLosses(database);
  if (found === undefined) return;
  log.warn('the store was restored from a backup: what came after that backup is lost');
  for (const loss of found.losses) await audit.recordLost(loss, found.key);
  await found.settle();
}

/** Tries until the store answers. Other failures are faults of the program, and end the attempt. */
async function whenStoreAnswers(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await work();
      return;
    } catch (error) {
      if (!isStoreAway(error)) throw error;
      await sleep(pause, undefined, { signal }).catch(() => {});
    }
  }
}

/** What the store lost of earlier gateways is seen where they left checkpoints in a file. */
async function compareWithFile(
  { config, database, log, begun }: Omit<LossOptions, 'clock'> & { readonly begun: number },
  audit: AuditLog,
  signal: AbortSignal,
): Promise<void> {
  const { checkpointFile: file } = config.audit;
  if (file === undefined) return;
  try {
    await whenStoreAnswers(() => compareOnce({ database, log, begun, file }, audit), signal);
  } catch (error) {
    log.error('the store could not be compared with the checkpoints', { file, reason: systemCode(error) ?? 'unknown' });
  }
}

async function compareOnce(
  { database, log, begun, file }: Pick<LossOptions, 'database' | 'log'> & { readonly begun: number; readonly file: string },
  audit: AuditLog,
): Promise<void> {
  const found = await checkpointedLosses(database, file, begun);
  if (found === undefined) return;
  for (const records of found.deleted)
    log.error('the store has no records that a checkpoint names, and has later ones: run audit verify', {
      reason: records,
      file,
    });
  for (const loss of found.losses) await audit.recordLost(loss, found.key);
}
