import type { Automation } from './automation.ts';
import { sortKey } from './sort-key.ts';

/** The fields of an automation that its schedule writes, and that its owner may write. Its ETag does not cover them. */
export const runFields = ['lastRunAt', 'nextRunAt'] as const;

type RunFacts = Pick<Automation, (typeof runFields)[number]>;

/** The timestamp of a key: the key has it in lower case. */
export function timeOf(key: Uint8Array): string {
  return Buffer.from(key).toString('latin1').toUpperCase();
}

export function keyOfTime(time: string | null | undefined): Uint8Array | null {
  return time === null || time === undefined ? null : sortKey(time);
}

/** The automation with these facts and no others. */
export function withFactsOf({ lastRunAt: _last, nextRunAt: _next, ...owned }: Automation, facts: RunFacts): Automation {
  const { lastRunAt, nextRunAt } = facts;
  return { ...owned, ...(lastRunAt !== undefined && { lastRunAt }), ...(nextRunAt !== undefined && { nextRunAt }) };
}
