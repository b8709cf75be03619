import { beforeQuery, pathReadings, withoutIdleSegments } from './path-readings.ts';

/** The globs of `allowPaths` and `denyPaths`, over the path before its `?`. */
export interface PathRights {
  readonly allowPaths: { readonly actions: readonly string[]; readonly queries: readonly string[] };
  readonly denyPaths: { readonly actions: readonly string[]; readonly queries: readonly string[] };
}

interface PathDecision {
  readonly allowed: boolean;
  readonly reason: string;
  readonly rule?: string;
}

/**
 * May this path be called? Judged by everything that a server could read it as (pathReadings), so that no spelling of a denied path
 * gets through: every reading must be allowed and none denied. Letters must match exactly, in upper and lower case. Deny by default.
 */
export function decidePath(rights: PathRights, operation: 'actions' | 'queries', path: string): PathDecision {
  const texts = pathReadings(beforeQuery(path));
  if (texts === undefined) return { allowed: false, reason: 'it can be read in too many ways; percent-encode it once' };
  const readings = texts.map(readPath);
  for (const rule of rulesOf(rights.denyPaths[operation])) {
    if (readings.some((reading) => matchesRule(rule, reading)))
      return { allowed: false, reason: `denyPaths.${operation} has "${rule.text}"`, rule: rule.text };
  }
  const rules = rulesOf(rights.allowPaths[operation]);
  for (const reading of readings) {
    if (!matchesAny(rules, reading)) return { allowed: false, reason: `no entry of allowPaths.${operation} matches it` };
  }
  return allowedBy[operation];
}

const allowedBy = {
  actions: { allowed: true, reason: 'allowPaths.actions' },
  queries: { allowed: true, reason: 'allowPaths.queries' },
} as const;

/** As it is configured, and what it stands for. */
interface Rule {
  readonly text: string;
  readonly globs: readonly Glob[];
}

interface Glob {
  /** Without segments that change nothing. */
  readonly text: string;
  readonly segments: readonly GlobSegment[];
  readonly hasWildcards: boolean;
}

interface GlobSegment {
  readonly text: string;
  readonly hasStar: boolean;
}

/** A way to read a path, taken apart once for all rules. */
interface Reading {
  readonly text: string;
  readonly segments: readonly string[];
}

function readPath(text: string): Reading {
  return { text, segments: segmentsOf(text) };
}

/** Taken apart once: a configuration keeps its lists for as long as it holds. */
const knownRules = new WeakMap<readonly string[], readonly Rule[]>();

function rulesOf(texts: readonly string[]): readonly Rule[] {
  let rules = knownRules.get(texts);
  if (rules === undefined) knownRules.set(texts, (rules = texts.map(readRule)));
  return rules;
}

/** A rule that is percent-encoded itself means what it stands for as well: `%c3%A9` and `é` are one. */
function readRule(text: string): Rule {
  return { text, globs: (text.includes('%') ? [text, decodedRule(text)] : [text]).map(readGlob) };
}

function readGlob(glob: string): Glob {
  const text = withoutIdleSegments(glob);
  const segments = segmentsOf(text).map((segment) => ({ text: segment, hasStar: segment.includes('*') }));
  return { text, segments, hasWildcards: text.includes('*') };
}

function matchesAny(rules: readonly Rule[], reading: Reading): boolean {
  for (const rule of rules) if (matchesRule(rule, reading)) return true;
  return false;
}

function matchesRule({ globs }: Rule, reading: Reading): boolean {
  for (const glob of globs) if (matches(glob, reading)) return true;
  return false;
}

function decodedRule(rule: string): string {
  try {
    // An encoded star is no wildcard.
    return decodeURIComponent(rule.replaceAll(/%2a/giu, '%252A'));
  } catch {
    return rule;
  }
}

/** `**` stands for any number of whole segments, `*` for any run of characters inside one. At worst the product of both lengths. */
export function matchesGlob(glob: string, path: string): boolean {
  return matches(readGlob(glob), readPath(path));
}

function matches({ text, segments, hasWildcards }: Glob, path: Reading): boolean {
  // What most adapters allow; it needs no looking at.
  if (text === '**') return true;
  if (!hasWildcards) return text === path.text;
  return matchesSequence(segments, path.segments, wholeSegments);
}

function segmentsOf(path: string): readonly string[] {
  return path === '' ? [] : path.split('/');
}

/** What a pattern's parts mean. */
interface Parts<P> {
  /** Stands for any number of elements. */
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

/** Wildcard matching with one point of return: after a mismatch the last wildcard takes one element more. */
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
