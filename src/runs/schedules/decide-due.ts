import { setImmediate } from 'node:timers/promises';
import type { Automation, SkipCode } from '#automations/automation.ts';
import type { AutomationPeople } from '#automations/automation-people.ts';
import type { DueAutomation, DueAutomations } from '#automations/timing/schedule.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log, LogFields } from '#base/log.ts';
import { isStoreAway } from '#database/store-failure.ts';
import {
  type CreateRunsWith,
  decideBatch,
  decideDue,
  type OccurrenceOutcome,
  type PlannedOccurrence,
  type ScheduledStart,
} from './decide-batch.ts';

/** Told of each decision. */
export interface ScheduleWatcher {
  /** `latenessMs`: from the due time to the decision. */
  started(latenessMs: number): void;
  skipped(code: SkipCode): void;
}

/** An automation at a due time. */
interface ScheduledOccurrence {
  readonly automation: Automation;
  readonly people: AutomationPeople;
  /** Milliseconds since the epoch. */
  readonly due: number;
  /** The interval or the cron expression, or `once`. */
  readonly schedule: string;
}

/** The record of an occurrence without a run. */
interface SkippedFacts {
  readonly event: 'skipped';
  readonly automation: { readonly _id: string; readonly name: string };
  /** ISO 8601. */
  readonly due: string;
  readonly detail: string;
  readonly code: SkipCode;
}

export interface DecidingOptions {
  readonly automations: DueAutomations;
  readonly createWith: CreateRunsWith;
  /**
   * The run of an occurrence; it belongs to the scheduler of the automation. Called before each decision, also where the run does not
   * begin. Rejects where it cannot tell now; then the occurrence is decided later.
   */
  readonly start: (occurrence: ScheduledOccurrence) => Promise<ScheduledStart>;
  readonly audit: { record(facts: SkippedFacts): void };
  readonly clock: Clock;
  readonly log: Log;
  readonly watcher: ScheduleWatcher;
}

/** When to look again, and the earliest time that is not decided, both in milliseconds since the epoch; Infinity: there is none. */
export interface Outlook {
  readonly wakeAt: number;
  readonly earliest: number;
}

/** Decides what is due, batch by batch. */
interface DueDeciding {
  /** Rejects where the store does. */
  decideAll(since: number): Promise<Outlook>;
  /** Ends with the batch that is under way. */
  stop(): void;
}

/** Automations that one transaction decides about. */
const batchSize = 50;
/** Milliseconds for which an automation waits whose run could not be made. */
const postponement = 15_000;
/** Milliseconds until the next look where no batch made progress. */
const pause = 1_000;

export function createDueDeciding(options: DecidingOptions): DueDeciding {
  const { automations, clock } = options;
  const postponing = createPostponing(options);
  let isStopped = false;
  const plan = async (due: readonly DueAutomation[], now: number, since: number): Promise<readonly PlannedOccurrence[]> => {
    const planned: PlannedOccurrence[] = [];
    for (const found of due) {
      // Missed times take some milliseconds each.
      await setImmediate();
      const decision = decideDue({ ...found, now, since });
      try {
        const { automation, people } = found;
        const occurrence = { automation, people, schedule: decision.schedule };
        const start = decision.due === undefined ? undefined : await options.start({ ...occurrence, due: decision.due });
        planned.push({ found, decision, start });
      } catch (error) {
        postponing.postpone(found, error);
      }
    }
    return planned;
  };
  /** One transaction for all; where it is refused, one for each. Answers whether there was progress. */
  const decide = async (planned: readonly PlannedOccurrence[], now: number): Promise<boolean> => {
    try {
      const outcomes = [...(await decideBatch(planned, { ...options, now }))];
      for (const [each, outcome] of outcomes) report(each, outcome, now, options);
      const moves = outcomes.map(([{ found, decision }, { startedAt, skip }]) => ({
        found,
        next: decision.next,
        startedAt,
        skip,
      }));
      return (await automations.moveOn(moves)) > 0;
    } catch (error) {
      const [first, second] = planned;
      if (isStoreAway(error) || first === undefined) throw error;
      if (second === undefined) {
        postponing.postpone(first.found, error);
        return false;
      }
      let hasProgress = false;
      for (const each of planned) hasProgress = (await decide([each], now)) || hasProgress;
      return hasProgress;
    }
  };
  return {
    async decideAll(since) {
      for (;;) {
        const now = clock.now();
        const { due, next = Infinity } = await automations.find({ now, limit: batchSize });
        const [first] = due;
        if (first === undefined) return { wakeAt: next, earliest: next };
        const planned = isStopped ? [] : await plan(due.filter(postponing.isReady), now, since);
        const hasProgress = planned.length > 0 && (await decide(planned, now));
        if (!hasProgress) return { wakeAt: Math.min(next, now + pause), earliest: first.due };
      }
    },
    stop() {
      isStopped = true;
    },
  };
}

/** Keeps an automation whose run cannot be made from holding up the others. */
function createPostponing({ clock, log }: Pick<DecidingOptions, 'clock' | 'log'>) {
  /** By `_id`: until when, by the monotonic clock. */
  const postponed = new Map<string, number>();
  return {
    /** Throws the error where the store is away: that concerns all automations. */
    postpone({ automation: { _id } }: DueAutomation, error: unknown): void {
      if (isStoreAway(error)) throw error;
      postponed.set(_id, clock.monotonic() + postponement);
      // A newer gateway begins it. The line about rows that wait for one says so, and not every 15 seconds.
      if (error instanceof GatewayError && error.code === 'newer-version-needed') return;
      log.error('a scheduled run could not be created; the gateway tries again', { path: _id, ...reasonOf(error) });
    },
    isReady: ({ automation: { _id } }: DueAutomation): boolean => {
      if ((postponed.get(_id) ?? -Infinity) > clock.monotonic()) return false;
      postponed.delete(_id);
      return true;
    },
  };
}

function report(
  { found, decision }: PlannedOccurrence,
  { kind, skip }: OccurrenceOutcome,
  now: number,
  { audit, log, watcher }: DecidingOptions,
): void {
  if (kind === 'started' && decision.due !== undefined) watcher.started(now - decision.due);
  if (kind !== 'skipped' || skip === undefined) return;
  const { due, code, reason } = skip;
  const { _id, name } = found.automation;
  watcher.skipped(code);
  log.warn('a due time of an automation was skipped', { automation: _id, due, code, reason });
  audit.record({ event: 'skipped', automation: { _id, name }, due, detail: reason, code });
}

export function reasonOf(error: unknown): LogFields {
  const { code } = error instanceof GatewayError ? error : { code: undefined };
  return { errorName: error instanceof Error ? error.name : 'unknown', code };
}
