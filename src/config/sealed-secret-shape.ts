import { isMap } from 'yaml';
import { shown } from '#yaml/wording.ts';
import type { SealedSecretConfig } from './config.ts';
import { entriesOf, itemsOf, memberOf, memberPath, type Place, scalarOf, wrongKind } from './place.ts';
import { workflowGlobs } from './right-shape.ts';
import { peopleAreNamed, peopleWho } from './role-shapes.ts';
import { label, type Parsed, text } from './scalar-shapes.ts';
import { secret } from './secret-shape.ts';
import { type Check, defaulted, isUntagged, list, mapping, required, type Shape, unique } from './shape.ts';

/** A name that `$secrets.NAME` can have. */
const secretName = /^[A-Za-z][\w-]{0,127}$/u;

const example = `{ value: { env: TICKET_TOKEN }, workflows: ["noc.*"], writers: { roles: [admin] }, destinations: ["https://tickets.example.net/api/"] }`;

const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/u;

/** An address whose path is the beginning of the paths that a secret may be sent to. */
const destination = text({
  type: 'https address',
  example: '"https://tickets.example.net/api/"',
  parse: (value): Parsed<string> => {
    const url = URL.parse(value);
    if (url === null || !/^https?:\/\/[^/?#@\\]+(?:\/[^?#\\]*)?$/u.test(value))
      return { fault: `${shown(value)} is no address without query; write e.g. https://tickets.example.net/api/` };
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
    return { fault: `${shown(value)} is no place; write ${fixedPlaces.join(', ')}, or header: and the name of the header` };
  },
});

const isSentSomewhere: Check = (at) => {
  const names = ['destinations', 'adapters'].flatMap((key) => {
    const member = memberOf(at, key);
    return member === undefined ? [] : itemsOf(member);
  });
  const written = memberOf(at, 'destinations');
  if (written !== undefined && names.length === 0)
    at.reading.warning(written, 'is empty, and so is adapters: no call can carry the secret');
};

const sealedSecret: Shape<SealedSecretConfig> = mapping(
  {
    value: required(secret(), 'The secret: the environment variable or the file that has it.'),
    workflows: required(workflowGlobs, 'Globs of the ids of the workflows that may use it.'),
    writers: required(
      peopleWho('write what uses the secret'),
      'Who may store a workflow that uses it, and be author of an automation that runs that workflow.',
    ),
    destinations: required(
      list(destination, { checks: [unique()] }),
      'Addresses that may get it, with the beginning of the path: https, and http for loopback addresses alone. May be `[]`.',
    ),
    adapters: defaulted(
      list(label({ type: 'adapter instance', example: 'Local NSO' }), { checks: [unique()] }),
      '[]',
      'Adapter instances whose calls may carry it.',
    ),
    places: defaulted(
      list(place, { checks: [unique()] }),
      '[authentication, "header:Authorization"]',
      'Parts of a call that may carry it: `authentication`, `header:NAME`, `query`, `path`, `body`.',
    ),
  },
  peopleAreNamed('writers', 'use the secret'),
  isSentSomewhere,
);

/** The form of earlier versions: the secret itself, or where it is. */
function isOldForm(at: Place): boolean {
  if (typeof scalarOf(at) === 'string') return true;
  const keys = entriesOf(at).map(({ key }) => key);
  return keys.length === 1 && (keys[0] === 'env' || keys[0] === 'file');
}

/** Secrets by names of the operator's choice. */
export const namedSecrets: Shape<Readonly<Record<string, SealedSecretConfig>>> = {
  type: 'mapping of names to secrets',
  entries: sealedSecret,
  async read(at) {
    if (!isMap(at.node)) return wrongKind(at, `a mapping of names to secrets, e.g. { ticketToken: ${example} }`);
    if (!isUntagged(at)) return undefined;
    const found = new Map<string, SealedSecretConfig>();
    const entries = entriesOf(at);
    for (const { key, keyPlace, value } of entries) {
      if (key === undefined || !secretName.test(key)) {
        const unnamed = { ...keyPlace, path: at.path };
        at.reading.problem(unnamed, 'holds a name that no secret can have; begin with a letter, then letters, digits, _ and -');
      } else if (found.has(key)) at.reading.problem(keyPlace, 'is given twice; keep one');
      else {
        const named = { ...value, path: memberPath(at.path, key) };
        if (isOldForm(named))
          at.reading.problem(named, `is the form of an earlier version, which named no destination; write ${example}`);
        else {
          const read = await sealedSecret.read(named);
          if (read !== undefined) found.set(key, read);
        }
      }
    }
    return found.size === entries.length ? Object.fromEntries(found) : undefined;
  },
};
