import type { ChangeCall, CommitForm, WholeAnswer } from './dry-runs.ts';

/** What the gateway adds to a commit, so that the orchestrator's own records name the person. */
export interface CommitStamp {
  readonly label: string;
  readonly comment: string;
}

/** Where the orchestrator says that it has the commit with a label; or why that is not known. A sentence each. */
export type FoundCommit = { readonly found: boolean; readonly text: string } | { readonly unknown: string };

export interface Stamps {
  /** A configuration change, not an action: it takes commit parameters. */
  isChange(call: ChangeCall): boolean;
  /** Why its label is not taken, of a call that may change something. Continues a sentence on the call. */
  labelRefusal(call: ChangeCall): string | undefined;
  /** Why it cannot be stamped; also by its label. Continues a sentence on the call. */
  refusal(call: ChangeCall): string | undefined;
  /** A label of its caller, which stays. */
  hasLabel(call: ChangeCall): boolean;
  /** The comment of its caller follows that of the stamp. */
  stamp(call: ChangeCall, stamp: CommitStamp, form: CommitForm): Pick<ChangeCall, 'path' | 'passedOn'>;
  /** Asks the node with GETs. */
  find(label: string, read: (path: string, accept: string) => Promise<WholeAnswer>): Promise<FoundCommit>;
}
