import { itemsOf, memberOf, type Place, scalarOf } from './place.ts';

/** A key that the configuration knows and the gateway does not serve yet. Delete the row with the change that builds it. */
interface NotYet {
  /** Keys from the root; `*` stands for each item of a list. */
  readonly at: readonly string[];
  readonly isUsed: (place: Place) => boolean;
  readonly what: string;
}

const rows: readonly NotYet[] = [
  {
    at: ['adapters', '*', 'auth', 'type'],
    isUsed: (place) => ['token', 'oauth2'].includes(String(scalarOf(place))),
    what: 'this type of authentication is not supported yet; use none, basic, bearer or header',
  },
  {
    at: ['adapters', '*', 'urls'],
    isUsed: (place) => itemsOf(place).length > 1,
    what: 'more than one address is not supported yet; write one',
  },
];

/** Reports each use of what is not built, so that nobody relies on a setting without effect. */
export function reportNotYet(root: Place): void {
  for (const row of rows) {
    for (const place of placesAt(root, row.at)) {
      if (row.isUsed(place)) place.reading.problem(place, row.what);
    }
  }
}

function placesAt(place: Place, [key, ...rest]: readonly string[]): readonly Place[] {
  if (key === undefined) return [place];
  if (key === '*') return itemsOf(place).flatMap((item) => placesAt(item, rest));
  const member = memberOf(place, key);
  return member === undefined ? [] : placesAt(member, rest);
}
