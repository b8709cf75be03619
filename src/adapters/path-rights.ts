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
  const readings = pathReadings(beforeQuery(path));
  if (readings === undefined) return { allowed: false, reason: 'it is percent-encoded more than five times over' };
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
  readonly segments: readonly string[];
  readonly hasWildcards: boolean;
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
  return { text, segments: segmentsOf(text), hasWildcards: text.includes('*') };
}

function matchesAny(rules: readonly Rule[], reading: string): boolean {
  for (const rule of rules) if (matchesRule(rule, reading)) return true;
  return false;
}

function matchesRule({ globs }: Rule, reading: string): boolean {
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
  return matches(readGlob(glob), path);
}

function matches({ text, segments, hasWildcards }: Glob, path: string): boolean {
  // What most adapters allow; it needs no looking at.
  if (text === '**') return true;
  if (!hasWildcards) return text === path;
  return matchesSequence(segments, segmentsOf(path), '**', matchesSegment);
}

function segmentsOf(path: string): readonly string[] {
  return path === '' ? [] : path.split('/');
}

function matchesSegment(pattern: string, segment: string): boolean {
  if (!pattern.includes('*')) return pattern === segment;
  return matchesSequence(pattern, segment, '*', isSame);
}

function isSame(one: string, other: string): boolean {
  return one === other;
}

/** Wildcard matching with one point of return: after a mismatch the last wildcard takes one element more. */
function matchesSequence(
  pattern: ArrayLike<string>,
  elements: ArrayLike<string>,
  wildcard: string,
  same: (one: string, other: string) => boolean,
): boolean {
  let at = 0;
  let position = 0;
  let lastWildcard = -1;
  let lastPosition = 0;
  while (position < elements.length) {
    const expected = pattern[at];
    if (expected === wildcard) {
      lastWildcard = at;
      lastPosition = position;
      at += 1;
    } else if (expected !== undefined && same(expected, elements[position] ?? '')) {
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
  while (pattern[at] === wildcard) at += 1;
  return at === pattern.length;
}
