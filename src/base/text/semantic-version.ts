const number = String.raw`(?:0|[1-9]\d*)`;
const label = String.raw`(?:${number}|\d*[a-zA-Z-][\da-zA-Z-]*)`;
const version = new RegExp(
  String.raw`^${number}\.${number}\.${number}(?:-${label}(?:\.${label})*)?(?:\+[\da-zA-Z-]+(?:\.[\da-zA-Z-]+)*)?$`,
  'u',
);

/** A semantic version (semver.org, 2.0) of at most 255 characters. */
export function isSemanticVersion(text: string): boolean {
  return text.length <= 255 && version.test(text);
}
