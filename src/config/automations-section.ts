import type { Secret } from '#base/secret.ts';
import { named } from './named-shape.ts';
import { duration, integer } from './scalar-shapes.ts';
import { secret } from './secret-shape.ts';
import { defaulted, mapped, mapping, type Shape } from './shape.ts';

/** Secrets by names of the operator's choice, as `$secrets.NAME` can have them. */
const namedSecrets: Shape<Readonly<Record<string, Secret>>> = named(secret(), {
  type: 'mapping of names to secrets',
  example: '{ nso-login: { env: NSO_LOGIN } }',
  refuse: (name) =>
    /^[A-Za-z][\w-]{0,127}$/u.test(name)
      ? undefined
      : 'holds a name that no secret can have; begin with a letter, then letters, digits, _ and -',
});

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
  secrets: defaulted(namedSecrets, '{}', 'Secrets that workflows use as `$secrets.NAME`, by name.'),
});
