import { isMap } from 'yaml';
import { entriesOf, memberPath, wrongKind } from './place.ts';
import { type Check, isUntagged, type Shape } from './shape.ts';

interface NamedOptions {
  /** For the reference and for messages: "mapping of names to secrets". */
  readonly type: string;
  readonly example: string;
  /** What is wrong with a name, also with the empty one in the place of what is no text; undefined if it is valid. No message quotes the name, which may be a secret in the wrong place. */
  readonly refuse: (name: string) => string | undefined;
  /** See the mapping as written. */
  readonly checks?: readonly Check[];
}

/** Values by names of the operator's choice. */
export function named<T>(
  shape: Shape<T>,
  { type, example, refuse, checks = [] }: NamedOptions,
): Shape<Readonly<Record<string, T>>> {
  return {
    type,
    async read(place) {
      if (!isMap(place.node)) return wrongKind(place, `a ${type}, e.g. ${example}`);
      if (!isUntagged(place)) return undefined;
      const found = new Map<string, T>();
      const entries = entriesOf(place);
      for (const { key = '', keyPlace, value } of entries) {
        const fault = refuse(key);
        if (fault !== undefined) place.reading.problem({ ...keyPlace, path: place.path }, fault);
        else if (found.has(key)) place.reading.problem(keyPlace, 'is given twice; keep one');
        else {
          const read = await shape.read({ ...value, path: memberPath(place.path, key) });
          if (read !== undefined) found.set(key, read);
        }
      }
      for (const check of checks) check(place);
      return found.size === entries.length ? Object.fromEntries(found) : undefined;
    },
  };
}
