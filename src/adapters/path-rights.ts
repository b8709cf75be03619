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
 * May this path be called? Judged as written and after each round of percent-decoding, with empty and `.` segments left out,
 * so that no spelling of a denied path gets through: every reading must be allowed and none denied. Deny by default.
 */
export function decidePath(rights: PathRights, operation: 'actions' | 'queries', path: string): PathDecision {
  const readings = pathReadings(path.split('?', 1)[0] ?? '');
  for (const rule of rights.denyPaths[operation]) {
    if (readings.some((reading) => matchesGlob(rule, reading)))
      return { allowed: false, reason: `denyPaths.${operation} has "${rule}"`, rule };
  }
  const rules = rights.allowPaths[operation];
  const unmatched = readings.find((reading) => !rules.some((rule) => matchesGlob(rule, reading)));
  if (unmatched !== undefined) return { allowed: false, reason: `no entry of allowPaths.${operation} matches it` };
  return { allowed: true, reason: `allowPaths.${operation}` };
}

/** Each text that a far side could read the path as, undoing percent-encoding up to five times over. */
export function percentDecodings(path: string): readonly string[] {
  const readings = [path];
  for (let round = 0; round < 5; round += 1) {
    const last = readings.at(-1) ?? '';
    const decoded = last.replaceAll(/%([0-9a-fA-F]{2})/gu, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    if (decoded === last) break;
    readings.push(decoded);
  }
  return readings;
}

function pathReadings(path: string): readonly string[] {
  return percentDecodings(path).map((reading) => segmentsOf(reading).join('/'));
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '' && segment !== '.');
}

/** `**` stands for any number of whole segments, `*` for any run of characters inside one. At worst the product of both lengths. */
export function matchesGlob(glob: string, path: string): boolean {
  return matchesSequence(segmentsOf(glob), path === '' ? [] : path.split('/'), '**', matchesSegment);
}

function matchesSegment(pattern: string, segment: string): boolean {
  return matchesSequence(pattern.split(''), segment.split(''), '*', (one, other) => one === other);
}

/** Wildcard matching with one point of return: after a mismatch the last wildcard takes one element more. */
function matchesSequence(
  pattern: readonly string[],
  elements: readonly string[],
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
  return pattern.slice(at).every((rest) => rest === wildcard);
}
