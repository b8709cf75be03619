import { type Glob, matchesGlob, type Path, readGlob, readPath } from './path-glob.ts';
import { beforeQuery, pathReadings } from './path-readings.ts';

/** Globs on the path before its `?`. */
export interface PathRights {
  readonly allowPaths: { readonly actions: readonly string[]; readonly queries: readonly string[] };
  readonly denyPaths: { readonly actions: readonly string[]; readonly queries: readonly string[] };
}

interface PathDecision {
  readonly allowed: boolean;
  readonly reason: string;
}

/** Each reading must be allowed, and none denied. A server may know further spellings of a denied path, which only `allowPaths` stops. Case-sensitive. */
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

/** Every reading matches. False for too many readings, and for `..`, which leads out of the glob. */
export function matchesPaths(globs: readonly string[], path: string): boolean {
  const texts = pathReadings(beforeQuery(path));
  if (texts === undefined) return false;
  const readings = texts.map(readPath);
  return readings.every(({ segments }) => !segments.includes('..')) && matchesEvery(rulesOf(globs), readings);
}

/** Some reading matches, for rules that must not be evaded. True for too many readings, and for `..`, which may lead anywhere. */
export function mayMatchPaths(globs: readonly string[], path: string): boolean {
  const readings = pathReadings(beforeQuery(path))?.map(readPath);
  if (readings === undefined) return true;
  return readings.some((reading) => reading.segments.includes('..') || matchesAny(rulesOf(globs), reading));
}

const allowedBy = {
  actions: { allowed: true, reason: 'allowPaths.actions' },
  queries: { allowed: true, reason: 'allowPaths.queries' },
} as const;

interface Rule {
  readonly text: string;
  readonly globs: readonly Glob[];
}

/** Parsed once; a configuration in force keeps its lists. */
const knownRules = new WeakMap<readonly string[], readonly Rule[]>();

function rulesOf(texts: readonly string[]): readonly Rule[] {
  let rules = knownRules.get(texts);
  if (rules === undefined) knownRules.set(texts, (rules = texts.map(readRule)));
  return rules;
}

/** Also matches what it decodes to: `%c3%A9` and `é` are the same. */
function readRule(text: string): Rule {
  return { text, globs: (text.includes('%') ? [text, decodeRule(text)] : [text]).map(readGlob) };
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

function decodeRule(rule: string): string {
  try {
    // An encoded star is no wildcard.
    return decodeURIComponent(rule.replaceAll(/%2a/giu, '%252A'));
  } catch {
    return rule;
  }
}

/**
 * The one of these interfaces to which the first segment of a path leads, in some reading. Undefined where none does, and where entries of
 * `allowed` that name that segment itself match the path. Servers may read letters in another case or form, so those count too.
 */
export function otherInterface(interfaces: readonly string[], allowed: readonly string[], path: string): string | undefined {
  const names = (pathReadings(beforeQuery(path)) ?? []).map(plainFirstSegment);
  const found = interfaces.find((name) => names.includes(name));
  if (found === undefined) return undefined;
  const naming = allowed.filter((glob) => namedInterface(interfaces, glob) === found);
  return naming.length > 0 && matchesPaths(naming, path) ? undefined : found;
}

/** The interface that a glob names in its first segment. */
export function namedInterface(interfaces: readonly string[], glob: string): string | undefined {
  const first = readGlob(glob).segments[0]?.text;
  return interfaces.find((name) => name === first);
}

/** Without accents, invisible characters and white space, and without a stream name or dots at its end. */
function plainFirstSegment(reading: string): string {
  const [first = ''] = reading.split('/', 1);
  const [name = ''] = first.normalize('NFKD').toLowerCase().split(':', 1);
  return name.replaceAll(/[^a-z0-9.-]/gu, '').replace(/\.+$/u, '');
}
