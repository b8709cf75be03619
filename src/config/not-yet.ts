import { itemsOf, memberOf, type Place } from './place.ts';

/** A key that the configuration knows and the gateway does not serve yet. Delete the row with the change that builds it. */
interface NotYet {
  /** Keys from the root; `*` stands for each item of a list. */
  readonly at: readonly string[];
  readonly what: string;
}

const rows: readonly NotYet[] = [{ at: ['audit', 'checkpointFile'], what: 'is not supported yet; remove it' }];

/** Reports each use of what is not built, so that nobody relies on a setting without effect. */
export function reportNotYet(root: Place): void {
  for (const row of rows) {
    for (const place of placesAt(root, row.at)) place.reading.problem(place, row.what);
  }
}

function placesAt(place: Place, [key, ...rest]: readonly string[]): readonly Place[] {
  if (key === undefined) return [place];
  if (key === '*') return itemsOf(place).flatMap((item) => placesAt(item, rest));
  const member = memberOf(place, key);
  return member === undefined ? [] : placesAt(member, rest);
}
