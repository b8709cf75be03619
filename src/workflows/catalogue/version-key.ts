const end = 0;
const numeric = 1;
const alphanumeric = 2;
const release = 3;

/** Bytes whose order is the precedence of semantic versions (semver.org, 2.0, point 11). Build metadata has none. */
export function versionKey(version: string): Uint8Array {
  const [withoutBuild = ''] = version.split('+');
  const dash = withoutBuild.indexOf('-');
  const core = dash < 0 ? withoutBuild : withoutBuild.slice(0, dash);
  const bytes = core.split('.').flatMap(numberBytes);
  if (dash < 0) return Uint8Array.from([...bytes, release]);
  const labels = withoutBuild.slice(dash + 1).split('.');
  const parts = labels.flatMap((label) =>
    /^\d+$/u.test(label) ? [numeric, ...numberBytes(label)] : [alphanumeric, ...Buffer.from(label), end],
  );
  return Uint8Array.from([...bytes, ...parts, end]);
}

/** A version has at most 255 characters, so that one byte holds the number of digits. */
function numberBytes(digits: string): readonly number[] {
  return [digits.length, ...Buffer.from(digits)];
}

export function isPrerelease(version: string): boolean {
  return versionKey(version).at(-1) !== release;
}
