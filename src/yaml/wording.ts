/** A value in quotes for a message, at most 60 characters of it. Must not be used for a possible secret. */
export function shown(value: string): string {
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value);
}

/** `a, b and c`. */
export function listed(given: readonly string[]): string {
  const words = [...new Set(given)];
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}
