import type { Automation } from './automation.ts';
import { sortKey } from './sort-key.ts';

/** The fields of an automation that runs write, and that its owner may write. Its ETag does not cover them. */
export const runFields = ['lastRunAt', 'nextRunAt'] as const;

export type RunField = (typeof runFields)[number];

type RunFacts = Pick<Automation, RunField>;

/** What a run writes: a timestamp as `toISOString` writes it, null where there is none any more, undefined to leave a field. */
export type NotedFacts = { readonly [Field in RunField]?: string | null | undefined };

/** What the row of an automation has of a field: the key of what its owner wrote last, and the number of that write. */
export interface OwnerFact {
  readonly key: Uint8Array | null;
  readonly revision: number;
}

export type OwnerFacts = Readonly<Record<RunField, OwnerFact>>;

/** What a run noted: it holds instead of the owner's fact that has the same revision. */
export interface RunNote {
  readonly field: RunField;
  readonly revision: number;
  readonly key: Uint8Array | null;
}

/** The facts that are in effect. */
export function factsInEffect(owner: OwnerFacts, notes: readonly RunNote[]): RunFacts {
  const facts: { -readonly [Field in RunField]?: string } = {};
  for (const field of runFields) {
    const { key, revision } = owner[field];
    const note = notes.find((candidate) => candidate.field === field && candidate.revision === revision);
    const inEffect = note === undefined ? key : note.key;
    if (inEffect !== null) facts[field] = timeOf(inEffect);
  }
  return facts;
}

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

/** The owner's facts that a merge patch does not name. */
export function factsBesides(patch: unknown, { lastRunAt, nextRunAt }: OwnerFacts): Partial<OwnerFacts> {
  const names = (field: RunField): boolean => typeof patch === 'object' && patch !== null && Object.hasOwn(patch, field);
  return { ...(!names('lastRunAt') && { lastRunAt }), ...(!names('nextRunAt') && { nextRunAt }) };
}

const lastMember = ',"repeatInterval":"';

/**
 * Puts the facts into the JSON text of a document without them, before the repeat interval. The interval is the last member of the text:
 * its last quotation mark is the last but one character. A member of this name within `data.input` is not.
 */
export function withRunFacts(document: string, facts: RunFacts): string {
  const members = runFields.flatMap((field) => (facts[field] === undefined ? [] : `,"${field}":${JSON.stringify(facts[field])}`));
  if (members.length === 0) return document;
  const found = document.lastIndexOf(lastMember);
  const isLast = found !== -1 && document.indexOf('"', found + lastMember.length) === document.length - 2;
  const place = isLast ? found : document.length - 1;
  return `${document.slice(0, place)}${members.join('')}${document.slice(place)}`;
}
