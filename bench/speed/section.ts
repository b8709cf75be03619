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
  /** Of a turn. */
  readonly seconds: number;
  readonly callers: number;
  /** Of a large reply. */
  readonly mebibytes: number;
  /** Of the soak. */
  readonly minutes: number;
  /** Who is measured beside the gateway, where it can be had; undefined: all. */
  readonly rows: readonly string[] | undefined;
}

/** Starts what it measures for the owner. */
export type Measure = (owner: Owner, options: SectionOptions) => Promise<Section>;
