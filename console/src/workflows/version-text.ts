import { textAt } from '../editor/document-place.ts';

/** Media type of a document of a workflow. */
export function mediaTypeOf(text: string): string {
  return text.trimStart().startsWith('{') ? 'application/json' : 'application/yaml';
}

/** The text with another version, and else as it was written. Undefined where its version is not found. */
export function withVersion(text: string, version: string): string | undefined {
  const place = textAt(text, ['document', 'version']);
  // In quotes it is the same in YAML and in JSON.
  return place && `${text.slice(0, place.from)}${JSON.stringify(version)}${text.slice(place.to)}`;
}

/** The next patch of the newest release with the next free number, as `workflows try` counts: `1.4.1-dev.1`. */
export function nextTrial(versions: readonly string[], written: string): readonly [base: string, number: number] {
  const [newest] = versions.filter((version) => !version.split('+')[0]?.includes('-'));
  const base = newest === undefined ? core(written) : nextPatch(newest);
  const numbers = versions.flatMap((version) =>
    version.startsWith(`${base}-dev.`) ? [Number(/^\d{1,9}$/u.exec(version.slice(base.length + 5))?.[0] ?? 0)] : [],
  );
  return [base, Math.max(0, ...numbers) + 1];
}

/** The version after a release: `1.4.1` for `1.4.0`. */
export function nextPatch(version: string): string {
  const [major, minor, patch = '0'] = core(version).split('.');
  return `${major}.${minor}.${BigInt(patch) + 1n}`;
}

function core(version: string): string {
  return version.split(/[-+]/u)[0] ?? '';
}
