import { quote } from '#yaml/wording.ts';
import { oauth2Kind } from '../secrets/oauth2-kind.ts';
import { entriesOf, itemsIn, memberOf, type Place, report, scalarOf, warn } from '../shapes/place.ts';
import { workflowGlobs } from '../shapes/right-shape.ts';
import { peopleAreNamed, peopleWho } from '../shapes/role-shapes.ts';
import { choice, duration, flag, integer, label, type Parsed, size, text } from '../shapes/scalar-shapes.ts';
import { secret } from '../shapes/secret-shape.ts';
import { type Check, defaulted, mapped, mapping, named, required, type Shape, uniqueList } from '../shapes/shape.ts';

const secretName = /^[A-Za-z][\w-]{0,127}$/u;

const example = `{ value: { env: TICKET_TOKEN }, workflows: ["noc.*"], writers: { roles: [admin] }, destinations: ["https://tickets.example.net/api/"] }`;

const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/u;

/** The path is the beginning of the paths that the secret may be sent to. */
const destination = text({
  type: 'https address',
  example: '"https://tickets.example.net/api/"',
  parse: (value): Parsed<string> => {
    const url = URL.parse(value);
    if (url === null || !/^https?:\/\/[^/?#@\\]+(?:\/[^?#\\]*)?$/u.test(value))
      return { fault: `${quote(value)} is no address without query; write e.g. https://tickets.example.net/api/` };
    if (url.protocol === 'http:' && !loopback.test(url.hostname))
      return { fault: 'begins with http://, which sends the secret in plain text; write https://, or a loopback address' };
    if (/[*%;]|\/\.{1,2}(?:\/|$)/u.test(value))
      return { fault: 'has "*", "%", ";" or a segment of dots in its path; write the plain beginning of the paths' };
    return { value: url.href };
  },
});

const fixedPlaces = ['authentication', 'query', 'path', 'body'];

const place = text({
  type: 'place of a call',
  example: '"header:X-Api-Key"',
  parse: (value): Parsed<string> => {
    if (fixedPlaces.includes(value)) return { value };
    const header = /^header:([!#$%&'*+.^_`|~\w-]{1,128})$/u.exec(value)?.[1];
    if (header !== undefined) return { value: `header:${header.toLowerCase()}` };
    return { fault: `${quote(value)} is no place; write ${fixedPlaces.join(', ')}, or header: and the name of the header` };
  },
});

const isSentSomewhere: Check = (at) => {
  const names = ['destinations', 'adapters'].flatMap((key) => itemsIn(at, key));
  const written = memberOf(at, 'destinations');
  if (written !== undefined && names.length === 0) warn(written, 'is empty, and so is adapters: no call can carry the secret');
};

const sealedSecret = mapping(
  {
    value: required(
      secret({ more: { oauth2: oauth2Kind } }),
      'The secret, or where it comes from; also `{ oauth2: { tokenUrl, clientId, clientSecret, scope } }`, the present access token.',
    ),
    workflows: required(workflowGlobs, 'Globs of the ids of the workflows that may use it.'),
    writers: required(
      peopleWho('write what uses the secret'),
      'Who may store a workflow that uses it, and be author of an automation that runs that workflow.',
    ),
    destinations: required(
      uniqueList(destination),
      'Addresses that may get it, with the beginning of the path: https, and http for loopback addresses alone. May be `[]`.',
    ),
    adapters: defaulted(
      uniqueList(label({ type: 'adapter instance', example: 'Local NSO' })),
      '[]',
      'Adapter instances whose calls may carry it.',
    ),
    places: defaulted(
      uniqueList(place),
      '[authentication, "header:Authorization"]',
      'Parts of a call that may carry it: `authentication`, `header:NAME`, `query`, `path`, `body`.',
    ),
  },
  peopleAreNamed('writers', 'use the secret'),
  isSentSomewhere,
);

/** The secret itself, or where it is. */
function isOldForm(at: Place): boolean {
  if (typeof scalarOf(at) === 'string') return true;
  const keys = entriesOf(at).map(({ key }) => key);
  return keys.length === 1 && (keys[0] === 'env' || keys[0] === 'file');
}

const namedSecrets = named(
  {
    ...sealedSecret,
    read(at) {
      if (!isOldForm(at)) return sealedSecret.read(at);
      report(at, `is the form of an earlier version, which named no destination; write ${example}`);
      return Promise.resolve(undefined);
    },
  },
  {
    type: 'mapping of names to secrets',
    example: `{ ticketToken: ${example} }`,
    refuse: (name) =>
      secretName.test(name)
        ? undefined
        : 'holds a name that no secret can have; begin with a letter, then letters, digits, _ and -',
  },
);

const shortestRetention = 3_600_000;

const retention: Shape<number> = {
  ...mapped(duration('36500d'), (value, place) => {
    if (value >= shortestRetention) return value;
    return report(place, 'is too short; write at least 1h');
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
    'What the runs, events, approvals, waiting calls of agents and documents of one person may take of the store. Beyond it the person starts no run.',
  ),
  taskData: defaulted(
    flag,
    'true',
    'Whether the gateway keeps what each task of a run got and gave. Those who may see it are in the guide to operating runs.',
  ),
  afterLoss: defaulted(
    choice('hold', 'continue'),
    'hold',
    'What becomes of runs that were under way when the store lost commits: they wait for `POST /runs/release`, or go on at once.',
  ),
  secrets: defaulted(
    { ...namedSecrets, entries: sealedSecret },
    '{}',
    'Secrets that workflows use as `$secrets.NAME`, by name. See below.',
  ),
});
