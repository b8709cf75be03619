import { isMap } from 'yaml';
import type { Secret } from '#base/secret.ts';
import { entriesOf, memberPath, wrongKind } from './place.ts';
import { duration, integer, size } from './scalar-shapes.ts';
import { secret } from './secret-shape.ts';
import { defaulted, isUntagged, mapped, mapping, type Shape } from './shape.ts';

/** A name that `$secrets.NAME` can have. */
const secretName = /^[A-Za-z][\w-]{0,127}$/u;

/** Secrets by names of the operator's choice. */
const namedSecrets: Shape<Readonly<Record<string, Secret>>> = {
  type: 'mapping of names to secrets',
  async read(place) {
    if (!isMap(place.node)) return wrongKind(place, 'a mapping of names to secrets, e.g. { nso-login: { env: NSO_LOGIN } }');
    if (!isUntagged(place)) return undefined;
    const found = new Map<string, Secret>();
    const entries = entriesOf(place);
    for (const { key, keyPlace, value } of entries) {
      if (key === undefined || !secretName.test(key)) {
        const unnamed = { ...keyPlace, path: place.path };
        place.reading.problem(
          unnamed,
          'holds a name that no secret can have; begin with a letter, then letters, digits, _ and -',
        );
      } else if (found.has(key)) place.reading.problem(keyPlace, 'is given twice; keep one');
      else {
        const read = await secret().read({ ...value, path: memberPath(place.path, key) });
        if (read !== undefined) found.set(key, read);
      }
    }
    return found.size === entries.length ? Object.fromEntries(found) : undefined;
  },
};

const shortestRetention = 3_600_000;

const retention: Shape<number> = {
  ...mapped(duration('36500d'), (value, place) => {
    if (value >= shortestRetention) return value;
    place.reading.problem(place, 'is too short; write at least 1h');
    return undefined;
  }),
  type: 'duration, 1h to 36500d',
};

export const automationsSection = mapping({
  tasks: defaulted(
    integer(0, 1_000),
    '32',
    'Tasks of runs that this gateway does at once. With 0 it does none, and serves calls alone.',
  ),
  retention: defaulted(retention, '30d', 'How long the gateway keeps runs that have ended.'),
  storePerPerson: defaulted(
    size('1048576GiB'),
    '2GiB',
    'What the runs, events and approvals of one person may take of the store. Beyond it the person starts no run.',
  ),
  secrets: defaulted(namedSecrets, '{}', 'Secrets that workflows use as `$secrets.NAME`, by name.'),
});
