/** A run or a call that ended. */
export interface EndedWork {
  readonly kind: RollupKind;
  /** `_id` of the automation of a run, adapter of a call; empty: it has none. */
  readonly subject: string;
  /** Of a run; of a call its outcome. */
  readonly status: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Milliseconds. */
  readonly duration: number;
  /** How many such. Default: 1. -1: it was counted, and ended otherwise after all. */
  readonly count?: number | undefined;
}

export type RollupKind = 'run' | 'call';

/** Milliseconds of the times for which ends are counted together, the finest first. A step is read by the coarsest rows that fit into it. */
export const grains = [900_000, 3_600_000, 21_600_000] as const;

export type Grain = (typeof grains)[number];

/** Each bucket ends at so many times its beginning, so that its middle is at most 9 % from what is in it. */
const width = Math.log(1.18);

/** Microseconds. */
export function microseconds({ duration }: Pick<EndedWork, 'duration'>): number {
  return Math.max(0, Math.round(duration * 1_000));
}

/** `length`: microseconds. */
export function bucketOf(length: number): number {
  return length < 1 ? -1 : Math.floor(Math.log(length) / width);
}

/** Microseconds: the middle of the bucket. */
function middleOf(bucket: number): number {
  return bucket < 0 ? 0 : Math.exp((bucket + 0.5) * width);
}

/** The ends of one step with one status and bucket. */
export interface CountedEnds {
  readonly status: string;
  readonly bucket: number;
  readonly ends: number;
  /** Microseconds: the greatest duration. */
  readonly longest: number;
}

export interface StepSummary {
  readonly counts: Readonly<Record<string, number>>;
  /** Milliseconds; absent without an end. */
  readonly p50?: number;
  readonly p95?: number;
  readonly max?: number;
}

/** Percentiles by nearest rank, within 10 %. */
export function summarizeEnds(all: readonly CountedEnds[]): StepSummary {
  const counted = all.filter(({ ends }) => ends > 0);
  const counts: Record<string, number> = {};
  for (const { status, ends } of counted) counts[status] = (counts[status] ?? 0) + ends;
  const longest = counted.reduce((most, each) => Math.max(most, each.longest), 0);
  const total = counted.reduce((sum, { ends }) => sum + ends, 0);
  if (total === 0) return { counts };
  const byBucket = counted.toSorted((one, other) => one.bucket - other.bucket);
  const percentile = (part: number): number => {
    let rank = Math.ceil(part * total);
    const holder = byBucket.find(({ ends }) => (rank -= ends) <= 0);
    return inMilliseconds(Math.min(middleOf(holder?.bucket ?? 0), longest));
  };
  return { counts, p50: percentile(0.5), p95: percentile(0.95), max: inMilliseconds(longest) };
}

function inMilliseconds(length: number): number {
  return Math.round(length) / 1_000;
}
