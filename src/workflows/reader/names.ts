/** A namespace or a name of a workflow: a label of DNS, in any case. */
export function isName(text: string): boolean {
  return /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/iu.test(text);
}

const number = String.raw`(?:0|[1-9]\d*)`;
const label = String.raw`(?:${number}|\d*[a-zA-Z-][\da-zA-Z-]*)`;
const version = new RegExp(
  String.raw`^${number}\.${number}\.${number}(?:-${label}(?:\.${label})*)?(?:\+[\da-zA-Z-]+(?:\.[\da-zA-Z-]+)*)?$`,
  'u',
);

/** A semantic version (semver.org, 2.0). */
export function isVersion(text: string): boolean {
  return text.length <= 255 && version.test(text);
}
