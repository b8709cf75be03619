import type { Owner } from '../../test/support/owner.ts';

/** A part of the report. */
export interface Section {
  readonly title: string;
  /** Markdown. */
  readonly text: string;
  /** SVG. */
  readonly chart?: string;
}

export interface SectionOptions {
  readonly rounds: number;
  /** Length of one measurement. */
  readonly seconds: number;
  readonly callers: number;
  /** Size of a large reply. */
  readonly mebibytes: number;
  /** Length of the soak. */
  readonly minutes: number;
  /** Runs of one measurement of `runs`. */
  readonly runs: number;
  /** Names of other relays to measure where available; undefined: all. */
  readonly rows: readonly string[] | undefined;
}

/** Measures one section. The owner closes what it starts. */
export type Measure = (owner: Owner, options: SectionOptions) => Promise<Section>;
