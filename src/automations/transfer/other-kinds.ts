import type { Principal } from '#access/principal.ts';
import type { DelegationNeeds } from '../delegation.ts';
import type { AutomationWriter, ReadTransaction } from '../store/automation-store.ts';

/** In the order in which documents may name each other. */
export const transferKinds = ['form', 'workflow', 'automation'] as const;

export type TransferKind = (typeof transferKinds)[number];
export type OtherKind = Exclude<TransferKind, 'automation'>;

/** A line of an import that is no automation. */
export type OtherLine =
  /** `document`: the bytes as they are stored. */
  | { readonly kind: 'form'; readonly id: string; readonly document: Buffer }
  | {
      readonly kind: 'workflow';
      readonly id: string;
      readonly version: string;
      readonly mediaType: 'application/json' | 'application/yaml';
      readonly text: string;
    };

/** Judged by itself. */
export interface OtherDocument {
  /**
   * Judges the rights to it, and stores it. Resolves with true where it was there before. Rejects with a GatewayError where it may not be
   * stored. Call it when every line is read: the documents of an import may name each other.
   */
  store(transaction: AutomationWriter['transaction']): Promise<boolean>;
}

/** The forms and workflows of one import. */
export interface OtherImport {
  /** Rejects with a GatewayError. */
  read(line: OtherLine): Promise<OtherDocument>;
  /** Knows the workflows of the import. */
  readonly delegation: Pick<DelegationNeeds, 'refuseAuthor' | 'whyNotWriter'>;
}

/** The forms and workflows, for imports and exports of the whole catalogue. */
export interface OtherKinds {
  beginImport(principal: Principal): OtherImport;
  /** Lines in groups, without what the principal may not see. */
  export(kind: OtherKind, principal: Principal, moment: ReadTransaction): AsyncGenerator<readonly string[], void, undefined>;
}
