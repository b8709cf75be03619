import { readGlob } from './path-glob.ts';
import { beforeQuery, pathReadings } from './path-readings.ts';
import { matchesPaths } from './path-rights.ts';

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
