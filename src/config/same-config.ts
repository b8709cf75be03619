import { Secret } from '#base/secret.ts';

/** True if two parts of a configuration are equal. Secrets are compared by value or source, because `isDeepStrictEqual` takes any two secrets for equal. */
export function sameConfig(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (one instanceof Secret && other instanceof Secret) return one.isSameAs(other);
  if (!isTree(one) || !isTree(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every((name) => Object.hasOwn(other, name) && sameConfig(one[name], other[name]));
}

function isTree(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !(value instanceof Secret);
}
