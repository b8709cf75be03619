import type { NamedPrincipal } from '#access/people.ts';
import type { Automation } from './automation.ts';

export const historyChanges = ['created', 'changed', 'deleted', 'imported', 'taken'] as const;

export type HistoryChange = (typeof historyChanges)[number];

/** What a person changed of an automation. */
export interface NewHistoryEntry {
  /** After the change, or before its deletion. */
  readonly automation: Automation;
  readonly change: HistoryChange;
  /** Undefined: a command on the store changed it. */
  readonly by: NamedPrincipal | undefined;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export interface HistoryEntry extends Pick<NewHistoryEntry, 'at' | 'change'> {
  /** The name; empty where a command on the store changed it. */
  readonly principal: string;
  /** JSON text. */
  readonly document: string;
}
