import { decodeJsonString } from './json-string.ts';

/**
 * The places of equal names among an object's raw name tokens (UTF-8, quotes included), in the order of their first ones;
 * undefined where all differ. Names are compared as what their escapes stand for (RFC 8259 section 8.3).
 */
export function groupByName(tokens: readonly Buffer[]): readonly (readonly number[])[] | undefined {
  const groups = new Map<string, number[]>();
  tokens.forEach((token, index) => {
    const name = decodeJsonString(token);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [index]);
    else group.push(index);
  });
  return groups.size === tokens.length ? undefined : [...groups.values()];
}
