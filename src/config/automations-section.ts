import { duration, integer, size } from './scalar-shapes.ts';
import { namedSecrets } from './sealed-secret-shape.ts';
import { defaulted, mapped, mapping, type Shape } from './shape.ts';

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
  secrets: defaulted(namedSecrets, '{}', 'Secrets that workflows use as `$secrets.NAME`, by name. See below.'),
});
