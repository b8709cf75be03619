/**
 * The places of equal names among `count` of them, in the order of their first ones; undefined where all differ. `nameAt`
 * gives a name as what its escapes stand for (RFC 8259 section 8.3); it is asked once or twice for each.
 */
export function groupByName(count: number, nameAt: (index: number) => string): readonly (readonly number[])[] | undefined {
  // Repetitions are rare, so that what an object mostly costs is this set.
  const names = new Set<string>();
  for (let index = 0; index < count; index++) names.add(nameAt(index));
  if (names.size === count) return undefined;
  const groups = new Map<string, number[]>();
  for (let index = 0; index < count; index++) {
    const name = nameAt(index);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [index]);
    else group.push(index);
  }
  return [...groups.values()];
}
