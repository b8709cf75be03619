import { Secret } from '#base/secret.ts';

/** True where two parts of a configuration say the same, secrets by their values: to `isDeepStrictEqual` any two secrets are equal. */
export function sameConfig(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (one instanceof Secret && other instanceof Secret) return one.reveal() === other.reveal();
  if (!isTree(one) || !isTree(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every((name) => Object.hasOwn(other, name) && sameConfig(one[name], other[name]));
}

function isTree(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !(value instanceof Secret);
}
