import { invalidRequest } from '#json/problem-list.ts';
import type { Automation } from './automation.ts';
import { nextDue, scheduleOf } from './schedule.ts';

/** What a merge patch of `nextRunAt` alone does: `null` pauses the schedule, `next` ends the pause. Undefined: it is another patch. */
export function steeringOf(patch: unknown): 'pause' | 'resume' | undefined {
  if (typeof patch !== 'object' || patch === null || Object.keys(patch).join() !== 'nextRunAt') return undefined;
  const { nextRunAt } = patch as { readonly nextRunAt?: unknown };
  if (nextRunAt === null) return 'pause';
  return nextRunAt === resumeWord ? 'resume' : undefined;
}

export const resumeWord = 'next';

/** The first due time after now. `anchor`: what an interval counts from, where `data.scheduleFrom` does not say it. */
export function nextFrom(
  automation: Automation,
  { now, anchor }: { readonly now: number; readonly anchor: string | undefined },
): string {
  const schedule = scheduleOf(automation, anchor ?? new Date(now).toISOString());
  if (schedule === undefined)
    throw invalidRequest([
      { pointer: '/nextRunAt', detail: 'is "next", and the automation has neither data.cron nor repeatInterval' },
    ]);
  const next = nextDue(schedule, now);
  if (next === undefined)
    throw invalidRequest([{ pointer: '/nextRunAt', detail: 'is "next", and the schedule has no further time' }]);
  return new Date(next).toISOString();
}
