import type { Database } from '#database/database.ts';
import { createDueDeciding, type DecidingOptions, type Outlook, reasonOf } from './decide-due.ts';
import { forgetOccurrences, schedulesSince } from './occurrence-store.ts';

/** Begins a run when an automation is due: once for each due time, by all gateways on one store together. */
export interface Scheduler {
  /** Automations or workflows changed: looks at the store within a second. */
  changed(): void;
  /** Looks at the store now, and resolves once all that was due is decided. Rejects where the store does. */
  round(): Promise<void>;
  /** `latenessMs`: how late the earliest automation is that is due and not decided. */
  figures(): { readonly latenessMs: number };
  /** Resolves once no decision is under way. */
  close(): Promise<void>;
}

interface SchedulerOptions extends DecidingOptions {
  readonly database: Pick<Database, 'records'>;
  /** Milliseconds for which a decided due time is remembered: for so long no write of it runs it again. */
  readonly retention: number;
}

/** Milliseconds between two looks at the clock, which may be set. */
const maxSleepTime = 1_000;
const shortestSleep = 20;
/** Milliseconds between two looks at the store because of changes, or after a failure. */
const lookGap = 1_000;
/** Milliseconds after which the store is looked at in any case. */
const rescan = 15_000;
/** Milliseconds between two deletions of old occurrences, and how many one deletes. */
const forgetting = { interval: 60_000, limit: 1_000 };

/** Nothing is known of the store. */
const unknown: Outlook = { wakeAt: -Infinity, earliest: Infinity };

/** Starts at once. It keeps no due time in memory but the earliest, and loses none when the store is away. */
export function createScheduler(options: SchedulerOptions): Scheduler {
  const { clock } = options;
  const looks = createLooks(options);
  let isClosed = false;
  let running: Promise<void> = Promise.resolve();
  /** One look after the other. */
  const queued = (): Promise<void> => {
    const mine = running.then(async () => {
      if (!isClosed) await looks.look();
    });
    running = mine.catch(() => {});
    return mine;
  };
  let timer: NodeJS.Timeout;
  const sleep = (milliseconds: number): void => {
    timer = setTimeout(() => void wake(), milliseconds);
    timer.unref();
  };
  const wake = async (): Promise<void> => {
    if (looks.isTime()) await queued().catch(() => {});
    const left = looks.wakeAt() - clock.now();
    if (!isClosed) sleep(Math.min(Math.max(left, shortestSleep), maxSleepTime));
  };
  sleep(0);
  return {
    changed: () => looks.expectChange(),
    round() {
      looks.expectChange();
      return queued();
    },
    figures: () => ({ latenessMs: Math.max(0, clock.now() - looks.earliest()) }),
    async close() {
      isClosed = true;
      looks.stop();
      clearTimeout(timer);
      await running;
    },
  };
}

/** Looks at the store, and what is known of it. */
function createLooks(options: SchedulerOptions) {
  const { clock, log, database } = options;
  const deciding = createDueDeciding(options);
  let outlook = unknown;
  let since: number | undefined;
  let [isChanged, isFailing] = [true, false];
  let [lookedAt, forgotAt] = [-Infinity, clock.monotonic()];
  const passed = (moment: number): number => clock.monotonic() - moment;
  const look = async (): Promise<void> => {
    lookedAt = clock.monotonic();
    since ??= await schedulesSince(database.records);
    isChanged = false;
    outlook = await deciding.decideAll(since);
    if (passed(forgotAt) < forgetting.interval) return;
    forgotAt = clock.monotonic();
    await forgetOccurrences(database.records, { before: clock.now() - options.retention, limit: forgetting.limit });
  };
  return {
    async look(): Promise<void> {
      try {
        await look();
        if (isFailing) log.info('the schedules of automations are followed again');
        isFailing = false;
      } catch (error) {
        isChanged = true;
        if (!isFailing) log.warn('the schedules of automations cannot be followed: runs are late', reasonOf(error));
        isFailing = true;
        throw error;
      }
    },
    isTime: () =>
      (outlook.wakeAt <= clock.now() && !isFailing) || (isChanged && passed(lookedAt) >= lookGap) || passed(lookedAt) >= rescan,
    wakeAt: () => outlook.wakeAt,
    earliest: () => outlook.earliest,
    expectChange() {
      isChanged = true;
    },
    stop: () => deciding.stop(),
  };
}
