import { type Glob, matchesGlob, type Path, readGlob, readPath } from './path-glob.ts';
import { beforeQuery, pathReadings } from './path-readings.ts';

/** The globs of `allowPaths` and `denyPaths`. They match the path before its `?`. */
export interface PathRights {
  readonly allowPaths: { readonly actions: readonly string[]; readonly queries: readonly string[] };
  readonly denyPaths: { readonly actions: readonly string[]; readonly queries: readonly string[] };
}

interface PathDecision {
  readonly allowed: boolean;
  readonly reason: string;
}

/**
 * Decides whether a path may be called. Every reading of the path (pathReadings) must be allowed and none may be denied. A server may
 * know further spellings of a denied path, which are allowed; a path that no rule allows is denied. Matching is case-sensitive.
 */
export function decidePath(rights: PathRights, operation: 'actions' | 'queries', path: string): PathDecision {
  const texts = pathReadings(beforeQuery(path));
  if (texts === undefined) return { allowed: false, reason: 'it can be read in too many ways; percent-encode it only once' };
  const readings = texts.map(readPath);
  for (const rule of rulesOf(rights.denyPaths[operation])) {
    if (readings.some((reading) => matchesRule(rule, reading)))
      return { allowed: false, reason: `denyPaths.${operation} has "${rule.text}"` };
  }
  if (matchesEvery(rulesOf(rights.allowPaths[operation]), readings)) return allowedBy[operation];
  return { allowed: false, reason: `no entry of allowPaths.${operation} matches it` };
}

/**
 * Whether the globs match every reading of the path. A path that can be read in too many ways is not matched. Neither is one with a `..`
 * segment in a reading, because it leads out of the glob. No path to an orchestrator has one (`pathProblem`).
 */
export function matchesPaths(globs: readonly string[], path: string): boolean {
  const texts = pathReadings(beforeQuery(path));
  if (texts === undefined) return false;
  const readings = texts.map(readPath);
  return readings.every(({ segments }) => !segments.includes('..')) && matchesEvery(rulesOf(globs), readings);
}

/**
 * Whether the globs match any reading of the path, for a rule that must not be evaded. A path that can be read in too many ways is matched.
 * So is one with a `..` segment in a reading, because it may lead anywhere.
 */
export function mayMatchPaths(globs: readonly string[], path: string): boolean {
  const readings = pathReadings(beforeQuery(path))?.map(readPath);
  if (readings === undefined) return true;
  return readings.some((reading) => reading.segments.includes('..') || matchesAny(rulesOf(globs), reading));
}

const allowedBy = {
  actions: { allowed: true, reason: 'allowPaths.actions' },
  queries: { allowed: true, reason: 'allowPaths.queries' },
} as const;

/** A rule as configured, and its globs. */
interface Rule {
  readonly text: string;
  readonly globs: readonly Glob[];
}

/** Rules are parsed once for each list; a configuration keeps its lists while it is in force. */
const knownRules = new WeakMap<readonly string[], readonly Rule[]>();

function rulesOf(texts: readonly string[]): readonly Rule[] {
  let rules = knownRules.get(texts);
  if (rules === undefined) knownRules.set(texts, (rules = texts.map(readRule)));
  return rules;
}

/** A percent-encoded rule also matches what it decodes to: `%c3%A9` and `é` are the same. */
function readRule(text: string): Rule {
  return { text, globs: (text.includes('%') ? [text, decodedRule(text)] : [text]).map(readGlob) };
}

function matchesEvery(rules: readonly Rule[], readings: readonly Path[]): boolean {
  for (const reading of readings) if (!matchesAny(rules, reading)) return false;
  return true;
}

function matchesAny(rules: readonly Rule[], reading: Path): boolean {
  for (const rule of rules) if (matchesRule(rule, reading)) return true;
  return false;
}

function matchesRule({ globs }: Rule, reading: Path): boolean {
  for (const glob of globs) if (matchesGlob(glob, reading)) return true;
  return false;
}

function decodedRule(rule: string): string {
  try {
    // An encoded star is not a wildcard.
    return decodeURIComponent(rule.replaceAll(/%2a/giu, '%252A'));
  } catch {
    return rule;
  }
}
