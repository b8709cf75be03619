import { setImmediate } from 'node:timers/promises';
import type { CountedEnds } from './rollup.ts';

/** Per status a list of numbers, three for each bucket: the bucket, its ends, and the longest of them. */
type PackedLists = Readonly<Record<string, readonly number[]>>;

/** The ends of one subject and time as JSON text. */
export function packEnds(counted: Iterable<CountedEnds>): string {
  const lists: Record<string, number[]> = {};
  for (const { status, bucket, ends, longest } of counted) (lists[status] ??= []).push(bucket, ends, longest);
  return JSON.stringify(lists);
}

/** Adds the ends of a JSON array of such texts. */
export function addPacked(sums: EndSums, packed: string): void {
  for (const lists of JSON.parse(packed) as readonly PackedLists[])
    for (const [status, numbers] of Object.entries(lists))
      for (let at = 0; at < numbers.length; at += 3)
        sums.add({ status, bucket: numbers[at] ?? 0, ends: numbers[at + 1] ?? 0, longest: numbers[at + 2] ?? 0 });
}

/** Adds counts up, by status and bucket. */
export class EndSums {
  readonly #byStatus = new Map<string, Map<number, { ends: number; longest: number }>>();

  add({ status, bucket, ends, longest }: CountedEnds): void {
    const buckets = this.#byStatus.get(status) ?? new Map<number, { ends: number; longest: number }>();
    this.#byStatus.set(status, buckets);
    const sum = buckets.get(bucket);
    if (sum === undefined) buckets.set(bucket, { ends, longest });
    else {
      sum.ends += ends;
      sum.longest = Math.max(sum.longest, longest);
    }
  }

  *all(): Generator<CountedEnds, void, undefined> {
    for (const [status, buckets] of this.#byStatus) for (const [bucket, sum] of buckets) yield { status, bucket, ...sum };
  }
}

/** A row of an answer: counts of one bucket, or a JSON array with the packed ends of subjects. `step`: the index of the step. */
export type AnsweredRow =
  | (CountedEnds & { readonly step: number; readonly packed: null })
  | { readonly step: number; readonly packed: string };

/** Characters after which the event loop goes on: a millisecond or two. */
const lengthAtOnce = 32_768;

/** The sums of each step. */
export async function sumsOf(rows: readonly AnsweredRow[], steps: number): Promise<readonly EndSums[]> {
  const sums = Array.from({ length: steps }, () => new EndSums());
  let length = 0;
  for (const row of rows) {
    const sum = sums[row.step];
    if (row.packed === null) sum?.add(row);
    else if (sum !== undefined) {
      addPacked(sum, row.packed);
      length += row.packed.length;
      if (length > lengthAtOnce) {
        length = 0;
        await setImmediate();
      }
    }
  }
  return sums;
}
