import type { NamedPrincipal } from '#access/people.ts';

/**
 * Who stored the bytes of a version. One who `lends` answers for the calls in them with the rights of now. Who stored the same bytes earlier
 * stays on record without that.
 */
export interface Storer extends NamedPrincipal {
  readonly lends: boolean;
}

/** The storers after somebody stored or took the bytes. */
export function storersAfter(earlier: readonly Storer[], { id, username }: NamedPrincipal): readonly Storer[] {
  const others = earlier.filter((storer) => storer.id !== id).map((storer) => ({ ...storer, lends: false }));
  return [{ id, username, lends: true }, ...others];
}

/** Null reads as none: an unknown storer lends nothing. */
export function readStorers(text: string | null): readonly Storer[] {
  return text === null ? [] : (JSON.parse(text) as readonly Storer[]);
}
