import { resolve } from 'node:path';
import { Secret } from '#base/secret.ts';
import { readPostgresUrl } from '#base/text/postgres-url.ts';
import { type Place, report, scalarOf, warn } from '../shapes/place.ts';
import { duration, orZero } from '../shapes/scalar-shapes.ts';
import { secret } from '../shapes/secret-shape.ts';
import { defaulted, mapped, mapping, type Shape } from '../shapes/shape.ts';

/** `file`: absolute. */
type StoreAddress = { readonly kind: 'sqlite'; readonly file: string } | { readonly kind: 'postgres'; readonly url: Secret };

/** The URL may hold a password. So it can come from a source of secrets, and no message quotes it. */
const storeUrl: Shape<StoreAddress> = {
  type: 'store URL',
  async read(place) {
    const written = scalarOf(place);
    if (typeof written !== 'string') {
      const resolved = await secret({ refuse: storeUrlFault }).read(place);
      return resolved === undefined ? undefined : addressOf(resolved, place);
    }
    const fault = storeUrlFault(written);
    if (fault !== undefined) return report(place, fault);
    if (!written.startsWith('sqlite:') && /^[^/]*\/\/[^/?#]*:[^/?#]*@/u.test(written)) {
      warn(place, 'holds a password in plain text; write { env: NAME } or { file: PATH } for the whole URL');
    }
    return addressOf(new Secret(written), place);
  },
};

function storeUrlFault(url: string): string | undefined {
  return url.startsWith('sqlite:') ? sqliteFault(url) : postgresFault(url);
}

function addressOf(held: Secret, place: Place): StoreAddress {
  const url = held.reveal();
  if (url.startsWith('sqlite:')) return { kind: 'sqlite', file: resolve(place.reading.directory, url.slice('sqlite:'.length)) };
  return { kind: 'postgres', url: held };
}

function sqliteFault(url: string): string | undefined {
  const file = url.slice('sqlite:'.length);
  if (file === '' || file.endsWith('/')) return 'has no file name after sqlite:; write e.g. sqlite:./data/gateway.db';
  if (/[?#\p{Cc}]/u.test(file)) return 'has "?", "#" or a control character in its file name; options are not supported';
  if (file.startsWith(':'))
    return 'is no file; a store in memory loses all its data at a restart, write e.g. sqlite:./data/gateway.db';
  return /^\/\/[^/]/u.test(file)
    ? 'has two slashes after sqlite:; write one for an absolute path, none for a relative one'
    : undefined;
}

function postgresFault(url: string): string | undefined {
  if (!/^postgres(?:ql)?:\/\//u.test(url))
    return 'is no store URL; write sqlite:./data/gateway.db or postgres://user@host/database';
  const read = readPostgresUrl(url);
  return typeof read === 'string' ? read : undefined;
}

export const storeSection = mapped(
  mapping({
    url: defaulted(
      storeUrl,
      'sqlite:./data/gateway.db',
      '`sqlite:PATH` for a local file, or `postgres://USER@HOST/DATABASE` for several gateways, also with several hosts. Also `{ env: NAME }` or `{ file: PATH }`.',
    ),
    startTimeout: defaulted(
      orZero(duration('24h')),
      '60s',
      'How long a start waits for a PostgreSQL that does not answer yet, or for another gateway that has the SQLite file.',
    ),
  }),
  ({ url, startTimeout }) => ({ ...url, startTimeout }),
);
