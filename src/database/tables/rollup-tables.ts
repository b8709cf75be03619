/** What ended when: part `records` of the store. */
export interface RollupTables {
  readonly rollup: RollupTable;
  readonly rollup_packed: PackedRollupTable;
}

/** How many runs or calls with one status ended in one time, as long as the bucket says (statistics/rollup.ts). */
interface RollupTable {
  readonly kind: 'run' | 'call';
  /** Milliseconds: the time from `at` on. Each end is counted for every grain. */
  readonly grain: number;
  readonly at: number;
  readonly status: string;
  readonly bucket: number;
  /** `_id` of the automation of a run, adapter of a call; empty: the total of all. */
  readonly subject: string;
  /** Of the process that counted: each has its own rows, so that none waits for another. */
  readonly gateway: string;
  readonly ends: number;
  /** Microseconds. */
  readonly longest: number;
}

/** The rows of one subject and time that is over, of all gateways. */
interface PackedRollupTable extends Pick<RollupTable, 'at' | 'grain' | 'kind' | 'subject'> {
  /** JSON text (statistics/packed-ends.ts). */
  readonly ends: string;
}
