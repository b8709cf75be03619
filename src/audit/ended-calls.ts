import type { EndedWork } from '#statistics/rollup.ts';
import type { AuditFacts } from './audit-entry.ts';

/** Routes of relayed calls, over HTTP and of runs. A preview leaves as a dry run, and is not counted. */
const relayed = /^(?!preview ).*\brest(?:Action|Call|Query|Request)\b/u;

/** What the statistics count of a record; empty where it is no call that ended. `of`: what is on record of the request. */
export function endedCall(
  { outcome, durationMs: duration = 0, count }: AuditFacts,
  at: number,
  of: Pick<AuditFacts, 'adapter' | 'route'>,
): readonly EndedWork[] {
  if (outcome === undefined || !relayed.test(of.route ?? '')) return [];
  return [{ kind: 'call', subject: of.adapter ?? '', status: outcome, at, duration, count }];
}

/** Counts a call once: what becomes known after its outcome replaces that. */
export class CallCount {
  readonly #of: Pick<AuditFacts, 'adapter' | 'route'>;
  #counted: readonly EndedWork[] = [];

  constructor(of: Pick<AuditFacts, 'adapter' | 'route'>) {
    this.#of = of;
  }

  /** What to count now. */
  ended(facts: AuditFacts, at: number): readonly EndedWork[] {
    const ends = endedCall(facts, at, this.#of);
    const before = this.#counted;
    if (before[0]?.status === ends[0]?.status) return [];
    this.#counted = ends;
    return [...before.map((end) => ({ ...end, count: -1 })), ...ends];
  }
}
