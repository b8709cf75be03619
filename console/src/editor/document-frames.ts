/** A member or an entry on the way to a place of a document. */
export interface Level {
  /** The member, or the number of the entry of a list. */
  readonly name: string | number;
  /** The members of the same object before the place, with their texts. Empty for a list. */
  readonly members: ReadonlyMap<string, string>;
}

/** Where a person types in a document. */
export interface DocumentPlace {
  readonly levels: readonly Level[];
  /** `key`: the name of a member, of an object below the last level. `value`: what the last level has. */
  readonly kind: 'key' | 'value';
  /** Members before the place in its object, for a key. */
  readonly members: ReadonlyMap<string, string>;
  /** The first character of the word that is typed. */
  readonly from: number;
  readonly isFlow: boolean;
}

/** An object or a list that is open at a place. */
export interface Frame {
  readonly isList: boolean;
  /** The column of its members; of an object or a list in brackets -1. */
  readonly indent: number;
  readonly members: Map<string, string>;
  key: string | undefined;
  index: number;
}

export interface Scanning {
  readonly text: string;
  readonly frames: Frame[];
  /** Told of each text with its place, and of each member with that of its name. */
  readonly onText: (path: readonly (string | number)[], from: number, to: number) => void;
  readonly onName: (path: readonly (string | number)[], from: number) => void;
}

/** A value was read to its end, or the text ended in it. */
export type ReadValue = { readonly next: number } | { readonly place: DocumentPlace | undefined };

export function newFrame(isList: boolean, indent: number): Frame {
  return { isList, indent, members: new Map(), key: undefined, index: 0 };
}

export function levelsOf(frames: readonly Frame[]): readonly Level[] {
  return frames.map(({ isList, key, index, members }) => ({ name: isList ? index : (key ?? ''), members }));
}

export function pathOf(frames: readonly Frame[]): readonly (string | number)[] {
  return frames.map(({ isList, key, index }) => (isList ? index : (key ?? '')));
}

/** The text between quotes, or as it is. */
export function unquoted(text: string): string {
  if (/^".*"$/su.test(text)) {
    try {
      return String(JSON.parse(text));
    } catch {
      return text.slice(1, -1);
    }
  }
  return /^'.*'$/su.test(text) ? text.slice(1, -1).replaceAll("''", "'") : text.trim();
}
