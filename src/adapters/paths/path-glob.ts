import { withoutIdleSegments } from './path-readings.ts';

export interface Glob {
  /** Without idle segments. */
  readonly text: string;
  readonly segments: readonly GlobSegment[];
  readonly hasWildcards: boolean;
}

interface GlobSegment {
  readonly text: string;
  readonly hasStar: boolean;
}

export interface Path {
  readonly text: string;
  readonly segments: readonly string[];
}

/** `text`: without idle segments (`withoutIdleSegments`). */
export function readPath(text: string): Path {
  return { text, segments: segmentsOf(text) };
}

export function readGlob(glob: string): Glob {
  const text = withoutIdleSegments(glob);
  const segments = segmentsOf(text).map((segment) => ({ text: segment, hasStar: segment.includes('*') }));
  return { text, segments, hasWildcards: text.includes('*') };
}

/** `**` is any number of segments, `*` any characters in one. Time: at most the product of both lengths. */
export function matchesGlob({ text, segments, hasWildcards }: Glob, path: Path): boolean {
  // As most adapters have it.
  if (text === '**') return true;
  if (!hasWildcards) return text === path.text;
  return matchesSequence(segments, path.segments, wholeSegments);
}

function segmentsOf(path: string): readonly string[] {
  return path === '' ? [] : path.split('/');
}

interface Parts<P> {
  isWildcard(part: P): boolean;
  matches(part: P, element: string): boolean;
}

const characters: Parts<string> = {
  isWildcard: (part) => part === '*',
  matches: (part, element) => part === element,
};

const wholeSegments: Parts<GlobSegment> = {
  isWildcard: ({ hasStar, text }) => hasStar && text === '**',
  matches: ({ hasStar, text }, element) => (hasStar ? matchesSequence(text, element, characters) : text === element),
};

/** One backtracking point: after a mismatch the last wildcard matches one more element. */
function matchesSequence<P>(pattern: ArrayLike<P>, elements: ArrayLike<string>, parts: Parts<P>): boolean {
  let at = 0;
  let position = 0;
  let lastWildcard = -1;
  let lastPosition = 0;
  while (position < elements.length) {
    const expected = pattern[at];
    if (expected !== undefined && parts.isWildcard(expected)) {
      lastWildcard = at;
      lastPosition = position;
      at += 1;
    } else if (expected !== undefined && parts.matches(expected, elements[position] ?? '')) {
      at += 1;
      position += 1;
    } else if (lastWildcard >= 0) {
      lastPosition += 1;
      position = lastPosition;
      at = lastWildcard + 1;
    } else {
      return false;
    }
  }
  for (let rest = pattern[at]; rest !== undefined && parts.isWildcard(rest); rest = pattern[at]) at += 1;
  return at === pattern.length;
}
