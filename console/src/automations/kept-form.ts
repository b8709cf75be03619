import { draftOf, keepDraft } from '../drafts.ts';

/** What a person typed into the form of an automation and did not save. */
export interface KeptForm {
  /** The automation as it was stored when the person began, as JSON text; undefined: a new one. */
  readonly base: string | undefined;
  /** Of `base`; empty: a new one. */
  readonly etag: string;
  /** What the controls begin with, as JSON text; undefined: nothing. */
  readonly begin: string | undefined;
  /** What was typed into them since, by their names. */
  readonly controls: readonly (readonly [name: string, values: readonly string[]])[];
  /** Where a new one began: the query of its page. */
  readonly origin: string;
}

export function keptForm(page: string): KeptForm | undefined {
  const text = draftOf(page);
  return text === undefined ? undefined : (JSON.parse(text) as KeptForm);
}

/** Undefined forgets it. */
export function keepForm(page: string, form: KeptForm | undefined): void {
  keepDraft(page, form && JSON.stringify(form));
}
